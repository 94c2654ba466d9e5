"""Commands that plan an operation, show the plan, or execute it to the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

from django.db import transaction

from broker.acts import act
from broker.acts.operations.control import StartOperation
from broker.acts.operations.ledgers import Ledger, counts_of, ledger_of
from broker.acts.operations.planning import PlanOperation
from broker.acts.operations.resubmits import PlanResubmit
from broker.acts.operations.siblings import siblings_in
from broker.acts.operations.states import left_out
from broker.housekeeping import pacing
from broker.models import Operation
from broker.operations.approvals import require_reason
from broker.security.users import User
from console.edges.commands.printing import progress


def work(
    user: User | None,
    request: PlanOperation | PlanResubmit,
    errors: TextIO,
    *,
    does: bool,
) -> dict[str, Any]:
    """Plan an operation and show it; with ``does``, execute it to the end.

    Raises:
        ApprovalNeeded: it needs a second person; it stays planned.
        ReasonMissing, ReasonNeeded: no reason is given; nothing is planned.
        BrokerError: as the acts that plan and start.
    """
    with transaction.atomic():
        answer = act(user, request)
        number = getattr(answer, "operation_id", None) or answer.id
        plan = Operation.objects.get(pk=number)
        ledger = ledger_of(plan)
        if does:
            require_reason(plan)
        else:
            foreseen = operation_document(user, plan, ledger, state="not planned")
            transaction.set_rollback(True)
            return foreseen
    act(user, StartOperation(plan.pk))
    with progress(errors, plan.scope, ledger.total) as bar:
        for _ in pacing.steps(plan.pk):
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


def in_words(told: dict[str, Any]) -> str:
    """The expected or actual result of an operation, as text."""
    lines = [
        f"  {one['messages']:>9,}  {one['on'] or 'a queue that is gone'}"
        + (f" → {one['to']}" if one["to"] else "")
        for one in told["ways"]
    ]
    label = Operation.Kind(told["kind"]).label
    if told["operation"] is None:
        head = f"{told['messages']:,} messages to {label}. Nothing is done yet; --yes"
        return "\n".join([f"{head} does it.", *lines])
    head = (
        f"Operation {told['operation']}: {told['done']:,} of {told['messages']:,} done."
    )
    lines += [
        f"  {one['messages']:>9,}  skipped: {one['why']}" for one in told["why_skipped"]
    ]
    return "\n".join([head, *lines])
