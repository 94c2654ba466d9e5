"""Changes to operations: started, approved, paused, continued, cancelled, undone."""

from __future__ import annotations

from ninja import Router

from broker.acts.operations.control import (
    cancel_operation,
    continue_operation,
    pace_operation,
    pause_operation,
    start_operation,
    undo_operation,
)
from broker.acts.operations.plans import (
    approve_operation,
    explain_operation,
    narrow_operation,
    plan_again,
    plan_rest,
    take_in_messages,
)
from console.edges.rest.acts import serve

router = Router(tags=["operations"])

for word, one in {
    "start": start_operation,
    "cancel": cancel_operation,
    "undo": undo_operation,
    "pause": pause_operation,
    "continue": continue_operation,
    "pace": pace_operation,
    "approve": approve_operation,
    "explain": explain_operation,
    "narrow": narrow_operation,
    "ceiling": take_in_messages,
    "rest": plan_rest,
    "again": plan_again,
}.items():
    path = f"/operations/{{int:operation_id}}/{word}"
    serve(router, "POST", path, one, operation_id="operation")
