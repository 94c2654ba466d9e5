"""Orders for recurring messages, for all doors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker.acts.recurring import PutRecurringMessage
from broker.models import Message
from tests.console.act_doors import Example
from tests.make import make_queue, make_recurring


def make_hourly() -> Mapping[str, Any]:
    make_queue()
    return {"recurring": make_recurring().name}


EXAMPLES = {
    "put_recurring_message": Example(
        PutRecurringMessage,
        "console:put_recurring",
        about=("recurring",),
        make=make_hourly,
        absent={"recurring": "never"},
        missing="There is no recurring message",
        changes=(Message,),
        lacking="put",
    ),
}
