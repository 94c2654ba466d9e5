"""Operations from the command line: planned and shown, or executed at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from django.db import transaction

from broker import operations
from broker.acts.operations import rights
from broker.acts.operations.ledgers import Ledger, counts_of, ledger_of
from broker.acts.operations.siblings import siblings_in
from broker.acts.operations.states import left_out
from broker.models import Operation
from broker.operations import Chosen, Order, Sought
from broker.operations.approvals import require_reason
from broker.security.users import User
from console.edges import permissions
from console.edges.commands import actors
from console.edges.commands.printing import progress

STEP = 500


@dataclass(frozen=True, slots=True)
class Work:
    """The operation, its messages, and a description of the set."""

    order: Order
    chosen: Chosen | Sought
    scope: str
    reason: str = ""


def do(user: User, work: Work, errors: TextIO, *, does: bool) -> dict[str, Any]:
    """Plan the operation and show it; with ``does``, execute it to the end.

    Raises:
        NothingChosen: no message matches.
        ApprovalNeeded: it needs a second person; it stays planned.
        ReasonMissing, ReasonNeeded: no reason is given; nothing is planned.
        NotAuthorized: an authority is missing at the source or the target.
    """
    actors.require(user, permissions.CHANGE)
    with transaction.atomic():
        plan = rights.plan(
            user, work.order, work.chosen, scope=work.scope, reason=work.reason
        )
        ledger = ledger_of(plan)
        if does:
            require_reason(plan)
        else:
            foreseen = operation_document(user, plan, ledger, state="not planned")
            transaction.set_rollback(True)
            return foreseen
    with transaction.atomic():
        operations.start(plan.pk, limit=STEP)
    with progress(errors, work.scope, ledger.total) as bar:
        while operations.step(plan.pk, limit=STEP):
            counts = counts_of([plan.pk])[plan.pk]
            bar.update(bar.task_ids[0], completed=counts["done"] + counts["skipped"])
    plan.refresh_from_db()
    return operation_document(user, plan, ledger_of(plan), state=plan.state)


def operation_document(
    user: User | None, operation: Operation, ledger: Ledger, *, state: str
) -> dict[str, Any]:
    return {
        "operation": None if state == "not planned" else operation.pk,
        "kind": operation.kind,
        "scope": operation.scope,
        "state": state,
        "messages": ledger.total,
        "done": ledger.done,
        "skipped": ledger.skipped,
        "ways": [
            {"on": one.on, "to": one.to, "messages": one.messages}
            for one in ledger.ways
        ],
        "siblings": list(map(asdict, siblings_in(operation, ledger, user))),
        "why_skipped": skips(ledger.why_skipped),
        "left_out": ledger.left_out,
        "left_out_because": left_out(ledger),
    }


def skips(found: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"why": why, "messages": count} for why, count in found]
