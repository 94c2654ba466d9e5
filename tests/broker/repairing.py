"""Dead letters that can be repaired, and how operators do it in tests."""

from __future__ import annotations

import json
from typing import Any

from broker import operations
from broker.models import Message, Operation
from broker.operations import Edit
from broker.queueing.put import NewMessage, put_many
from tests.broker.dying import ERROR, back_out, on, operator, plan
from tests.make import NOON, make_queue, make_setting

JSON = "application/json"
EUR = {"body": {"merge": {"currency": "EUR"}}}


def make_broken(*bodies: Any, **fields: Any) -> list[int]:
    """Messages that died on "orders", whose bodies are bytes or JSON; their ids."""
    make_queue("DLQ", address="DLA")
    make_queue("orders")
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLA")
    fields = {"content_type": JSON} | fields
    put_many(
        [
            NewMessage(
                "orders",
                one if isinstance(one, bytes) else json.dumps(one).encode(),
                **fields,
            )
            for one in bodies
        ],
        now=NOON,
    )
    back_out("orders", limit=len(bodies), error=ERROR)
    return on("DLQ")


def patched(document: dict[str, Any], *, argument: str = "") -> Operation:
    """A plan to resubmit all dead letters, with a patch that was looked at."""
    planned = plan(argument=argument)
    operations.set_patch(planned.pk, json.dumps(document))
    while operations.look(planned.pk):
        pass
    return planned


def edited(message_id: int, edit: Edit, *, queue: str = "DLQ") -> int:
    """Edit a message; return its child."""
    planned = operations.plan_edit(operator(), message_id, queue, edit)
    return operations.start_edit(planned.pk)


def body_of(message_id: int) -> bytes:
    return bytes(Message.objects.get(pk=message_id).body)
