"""Orders for the discard bin, for all doors."""

from __future__ import annotations

from broker.acts.discards import RestoreMessages
from broker.models import Discarded
from tests.console.act_doors import Example
from tests.console.dead_letters.test_discards import throw_away

EXAMPLES = {
    "restore_messages": Example(
        RestoreMessages,
        "console:restore",
        about=(),
        make=lambda: {"messages": tuple(throw_away(2))},
        absent={},
        missing="",
        changes=(Discarded,),
        is_hidden=False,
    ),
}
