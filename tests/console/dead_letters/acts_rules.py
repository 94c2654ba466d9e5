"""Orders for rules for dead letters, for all doors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker.acts.rules import SaveRules, SwitchRules
from broker.models import RuleTable
from broker.operations import rules
from tests.console.act_doors import Example
from tests.make import make_queue, make_user

TEXT = "ACTION(IGNORE)"


def make(**fields: Any) -> Mapping[str, Any]:
    make_queue("orders")
    rules.save("orders", TEXT, make_user("otto"))
    return {"queue": "orders", **fields}


def example(request: type, page: str, **fields: Any) -> Example:
    return Example(
        request,
        page,
        about=("queue",),
        make=lambda: make(**fields),
        absent={"queue": "orders", **fields},
        missing="There is no queue 'orders'",
        changes=(RuleTable,),
    )


EXAMPLES = {
    "save_rules": example(SaveRules, "console:rule_table", text=TEXT, revision=1),
    "switch_rules": example(SwitchRules, "console:switch_rules", mode="observe"),
}
