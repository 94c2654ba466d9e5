"""Operations over REST: planned, read, changed, repaired.

A plan is an operation without effect: the messages are fixed, and it says which queues
they are on and the target. It is then started. A patch is the JSON described in
``docs/repair.md``, with all digits of its numbers.
"""

from __future__ import annotations

from ninja import Router

from broker.acts.operations.control import (
    cancel_operation,
    continue_operation,
    pace_operation,
    pause_operation,
    schedule_operation,
    start_operation,
    undo_operation,
)
from broker.acts.operations.patches import drop_patch, set_patch
from broker.acts.operations.planning import plan_operation
from broker.acts.operations.plans import (
    approve_operation,
    explain_operation,
    narrow_operation,
    plan_again,
    plan_rest,
    take_in_messages,
)
from broker.acts.operations.resubmits import plan_resubmit
from console.edges.rest.acts import serve
from console.edges.rest.queries import serve_query
from console.operations.queries import (
    list_operations,
    read_items,
    read_operation,
    read_preview,
)

ONE = "/operations/{int:operation_id}"
PATCH = f"{ONE}/patch"

operations = Router(tags=["operations"])
serve_query(operations, "/operations", list_operations)
serve_query(operations, ONE, read_operation, operation_id="operation")
serve_query(operations, f"{ONE}/items", read_items, operation_id="operation")
serve(operations, "POST", "/operations", plan_operation)
for word, one in {
    "start": start_operation,
    "schedule": schedule_operation,
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
    serve(operations, "POST", f"{ONE}/{word}", one, operation_id="operation")

repairs = Router(tags=["repairs"])
serve(repairs, "POST", "/resubmits", plan_resubmit)
serve_query(repairs, PATCH, read_preview, operation_id="operation")
serve(repairs, "PUT", PATCH, set_patch, operation_id="operation")
serve(repairs, "DELETE", PATCH, drop_patch, operation_id="operation")
