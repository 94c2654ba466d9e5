"""Orders to operations, for all doors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from broker.acts.operations.control import (
    CancelOperation,
    ContinueOperation,
    PaceOperation,
    PauseOperation,
    ScheduleOperation,
    StartOperation,
    UndoOperation,
)
from broker.acts.operations.message_sets import DeadLetters
from broker.acts.operations.patches import DropPatch, SetPatch
from broker.acts.operations.planning import PlanOperation
from broker.acts.operations.plans import (
    ApproveOperation,
    ExplainOperation,
    NarrowOperation,
    PlanAgain,
    PlanRest,
    TakeInMessages,
)
from broker.acts.operations.resubmits import PlanResubmit
from broker.models import Operation, OperationItem, OperationSchedule
from broker.queueing.put import put
from tests.console.act_doors import Example
from tests.console.letters import die, make_places
from tests.console.operations.again_acts import undo_of_one
from tests.make import make_user, plan_resubmit

PATCH = '{"headers": [{"op": "set", "name": "subject", "value": "mended"}]}'


def example(request: type, page: str, **fields: Any) -> Example:
    def make() -> Mapping[str, Any]:
        make_places()
        die()
        return {"operation": plan_resubmit(make_user("omar"), "all").pk} | fields

    return Example(
        request,
        f"console:{page}",
        about=("operation",),
        make=make,
        absent={"operation": 987_654} | fields,
        missing="There is no operation",
        changes=(Operation, OperationItem, OperationSchedule),
        lacking="get",
    )


def make_letter() -> Mapping[str, Any]:
    make_places()
    return {"letters": DeadLetters(fingerprint=die().fingerprint)}


def make_undo() -> Mapping[str, Any]:
    make_user("omar")
    return {"operation": undo_of_one().pk}


SOURCE = {"kind": "remove", "source": "orders"}


def make_source() -> Mapping[str, Any]:
    make_places()
    put("orders")
    return SOURCE


PLANS = {
    "plan_operation": Example(
        PlanOperation,
        "console:order",
        about=("source",),
        make=make_source,
        absent=SOURCE,
        missing="There is no queue 'orders'",
        changes=(Operation, OperationItem, OperationSchedule),
        posted={"which": "all"},
        lacking="get",
    ),
    "plan_resubmit": Example(
        PlanResubmit,
        "console:plan_resubmit",
        about=(),
        make=make_letter,
        absent={},
        missing="",
        changes=(Operation, OperationItem),
        is_hidden=False,
        lacking="get",
    ),
}
STEERING = {
    "start_operation": example(StartOperation, "start", reason="mended"),
    "schedule_operation": example(
        ScheduleOperation, "schedule_operation", reason="mended"
    ),
    "cancel_operation": example(CancelOperation, "cancel"),
    "undo_operation": example(UndoOperation, "undo"),
    "pause_operation": example(PauseOperation, "pause_operation"),
    "continue_operation": example(ContinueOperation, "carry_on"),
    "pace_operation": example(PaceOperation, "pace", pace=7),
    "approve_operation": example(ApproveOperation, "approve", seal="x"),
    "explain_operation": example(ExplainOperation, "explain", reason="mended"),
    "narrow_operation": example(NarrowOperation, "narrow", messages=1),
    "take_in_messages": example(TakeInMessages, "take_in", reason="mended"),
    "set_patch": example(SetPatch, "repair", patch=PATCH),
    "drop_patch": example(DropPatch, "repair"),
    "plan_rest": example(PlanRest, "rest"),
    "plan_again": replace(example(PlanAgain, "again"), make=make_undo),
}
EXAMPLES = {**PLANS, **STEERING}
