"""Orders to edit a message, for all doors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker.acts.messages import EditMessage
from broker.models import Message, Operation, OperationItem
from tests.console.act_doors import Example
from tests.console.letters import die, make_places

PATCH = '{"headers": [{"op": "set", "name": "subject", "value": "mended"}]}'


def make_letter() -> Mapping[str, Any]:
    make_places()
    return {"message": die().message_id, "body": "mended", "patch": PATCH}


EXAMPLES = {
    "edit_message": Example(
        EditMessage,
        "console:edit",
        about=("message",),
        make=make_letter,
        absent={"message": 987_654, "body": "mended"},
        missing="There is no message",
        changes=(Message, Operation, OperationItem),
        lacking="browse",
    ),
}
