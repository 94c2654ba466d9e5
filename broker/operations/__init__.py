"""What an operator does to many messages: planned on a frozen set, then worked through.

    plan ──▶ preview ──▶ start ──▶ step, step … ──▶ plan_undo ──▶ start ──▶ step …
                                      cancel

``plan`` chooses the entries once and stores them as items. ``start`` begins, ``step``
works on the next items in a transaction of its own, and may be called by anybody, any
number of times: what is done is done, and nothing outside the frozen set is touched.
The items are the ledger, too: what became of each, and how it was before. So an undo is
an operation like others, on the items of the one that it takes back.
"""

from __future__ import annotations

from broker.operations.orders import Chosen, Order
from broker.operations.outcomes import Outcome
from broker.operations.planning import plan
from broker.operations.previews import Part, Preview, preview
from broker.operations.stepping import cancel, change, running, start, step
from broker.operations.undo_plans import plan_undo, undo_until, why_not_undoable

__all__ = [
    "Chosen",
    "Order",
    "Outcome",
    "Part",
    "Preview",
    "cancel",
    "change",
    "plan",
    "plan_undo",
    "preview",
    "running",
    "start",
    "step",
    "undo_until",
    "why_not_undoable",
]
