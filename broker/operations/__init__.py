"""Operations on many messages: planned on a fixed set, then processed in steps.

    plan ──▶ preview ──▶ start ──▶ step, step … ──▶ plan_undo ──▶ start ──▶ step …
    arrange                   pause, carry_on, cancel

``plan`` chooses the entries once and stores them as items. ``start`` begins. ``step``
processes the next items in its own transaction. Any process may call it, any number of
times: an item is processed once, and no entry outside the set is touched. The items are
also the ledger: the result of each, and its entry before. So an undo is an operation
like others, on the items of the operation that it undoes.

Each operation has a schedule. ``arrange`` sets its rate and the size of its canary. The
operation watches the canary until each message has an outcome, and stops itself if they
die again. ``settle`` records the outcomes of all copies in the ledger.
"""

from __future__ import annotations

from broker.operations.approvals import approve, explain
from broker.operations.commands import (
    EVERY_QUEUE,
    Chosen,
    Only,
    Order,
    Sought,
)
from broker.operations.copy_outcomes import left, settle, unsettled
from broker.operations.lifecycle import (
    cancel,
    change,
    paced,
    plan_again,
    plan_rest,
    running,
    start,
    step,
    stop_and_plan_undo,
)
from broker.operations.outcomes import Outcome
from broker.operations.patching import (
    drop_patch,
    look,
    set_patch,
    subjects_of,
    waiting,
)
from broker.operations.planning import (
    PlanCount,
    foresee,
    narrow,
    on_queues,
    plan,
    present,
    take_in,
)
from broker.operations.previews import (
    OperationPreview,
    PreviewPart,
    leaves_any,
    preview,
)
from broker.operations.scheduling import (
    arrange,
    carry_on,
    pause,
    set_pace,
    set_start,
    usual_canary,
)
from broker.operations.single_edit import Edit, plan_edit, start_edit
from broker.operations.stages import Lane, lanes
from broker.operations.undo_plans import plan_undo, undo_until, why_not_undoable

__all__ = [
    "EVERY_QUEUE",
    "Chosen",
    "Edit",
    "Lane",
    "Only",
    "OperationPreview",
    "Order",
    "Outcome",
    "PlanCount",
    "PreviewPart",
    "Sought",
    "approve",
    "arrange",
    "cancel",
    "carry_on",
    "change",
    "drop_patch",
    "explain",
    "foresee",
    "lanes",
    "leaves_any",
    "left",
    "look",
    "narrow",
    "on_queues",
    "paced",
    "pause",
    "plan",
    "plan_again",
    "plan_edit",
    "plan_rest",
    "plan_undo",
    "present",
    "preview",
    "running",
    "set_pace",
    "set_patch",
    "set_start",
    "settle",
    "start",
    "start_edit",
    "step",
    "stop_and_plan_undo",
    "subjects_of",
    "take_in",
    "undo_until",
    "unsettled",
    "usual_canary",
    "waiting",
    "why_not_undoable",
]
