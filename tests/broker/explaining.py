"""Messages that wait, and who could take them: for tests of explanations."""

from __future__ import annotations

from typing import Any

from broker import owner
from broker.endings import Explanation
from broker.models import ConnectionConsumer, Queue
from broker.put import put


def sent(queue: str = "orders", **fields: Any) -> int:
    receipt = put(queue, now=fields.pop("now", None), **fields)
    return receipt.message_id


def codes(found: list[Explanation]) -> list[str]:
    return [one.code for one in found]


def consumer(
    queue: Queue, selector: str = "", *, handler: str = "shop.handle", **fields: Any
) -> ConnectionConsumer:
    """A ConnectionConsumer of this process, which lives."""
    return ConnectionConsumer.objects.create(
        owner_id=owner.current(),
        queue=queue,
        handler=handler,
        selector=selector,
        server_sessions=1,
        **fields,
    )
