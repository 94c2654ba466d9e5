"""Messages that wait, and who could take them: for tests of explanations."""

from __future__ import annotations

from typing import Any

from broker.models import ConnectionConsumer, Queue
from broker.monitoring.outcomes import Explanation
from broker.queueing import processes
from broker.queueing.put import put


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
        owner_id=processes.current(),
        queue=queue,
        handler=handler,
        selector=selector,
        server_sessions=1,
        **fields,
    )
