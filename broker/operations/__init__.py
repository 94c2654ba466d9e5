"""What an operator does to many messages: planned on a frozen set, then worked through.

    plan ──▶ preview ──▶ start ──▶ step, step … ──▶ plan_undo ──▶ start ──▶ step …
    arrange                   pause, carry_on, cancel

``plan`` chooses the entries once and stores them as items. ``start`` begins, ``step``
works on the next items in a transaction of its own, and may be called by anybody, any
number of times: what is done is done, and nothing outside the frozen set is touched.
The items are the ledger, too: what became of each, and how it was before. So an undo is
an operation like others, on the items of the one that it takes back.

Each has a course: ``arrange`` says how fast it goes, and how many it tries first. Those
it watches until they have ended, and stops itself if they die again. ``settle`` notes
in the ledger what became of all that was sent.
"""

from __future__ import annotations

from broker.operations.approvals import approve, explain
from broker.operations.commands import Chosen, Only, Order, Sought
from broker.operations.copy_outcomes import settle, unsettled
from broker.operations.lifecycle import cancel, change, paced, running, start, step
from broker.operations.outcomes import Outcome
from broker.operations.patching import (
    drop_patch,
    look,
    set_patch,
    subjects_of,
    waiting,
)
from broker.operations.planning import PlanCount, foresee, narrow, plan, take_in
from broker.operations.previews import OperationPreview, PreviewPart, preview
from broker.operations.schedule import arrange, carry_on, pause, set_pace, usual_canary
from broker.operations.single_edit import Edit, plan_edit, start_edit
from broker.operations.stages import Lane, lanes
from broker.operations.undo_plans import plan_undo, undo_until, why_not_undoable

__all__ = [
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
    "look",
    "narrow",
    "paced",
    "pause",
    "plan",
    "plan_edit",
    "plan_undo",
    "preview",
    "running",
    "set_pace",
    "set_patch",
    "settle",
    "start",
    "start_edit",
    "step",
    "subjects_of",
    "take_in",
    "undo_until",
    "unsettled",
    "usual_canary",
    "waiting",
    "why_not_undoable",
]
