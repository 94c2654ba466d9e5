"""The course of an operation: begun, worked through in batches, ended or cancelled."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from broker.errors import OperationNotPlanned
from broker.models import Operation
from broker.operations.doing import do
from broker.operations.ledger import planned
from broker.operations.undoing import take_back

State = Operation.State

BATCH = 500  # items of one transaction


def start(
    operation_id: int, *, limit: int = 100, now: datetime | None = None
) -> Operation:
    """Begin a planned operation with its first items.

    Small operations end here, so they need no worker.

    Raises:
        OperationNotPlanned: it was started or cancelled before.
    """
    change(operation_id, State.PLANNED, state=State.RUNNING, started_at=Now())
    step(operation_id, limit=limit, now=now)
    return Operation.objects.get(pk=operation_id)


def cancel(operation_id: int) -> None:
    """End an operation where it is: what is done stays, the rest is not touched.

    Raises:
        OperationNotPlanned: it had ended before.
    """
    try:
        change(operation_id, State.PLANNED, state=State.CANCELLED, ended_at=Now())
    except OperationNotPlanned:
        change(operation_id, State.RUNNING, state=State.CANCELLED, ended_at=Now())


def change(operation_id: int, before: Operation.State, **fields: Any) -> None:
    changed = Operation.objects.filter(pk=operation_id, state=before).update(**fields)
    if not changed:
        state = Operation.objects.values_list("state", flat=True).get(pk=operation_id)
        raise OperationNotPlanned(operation_id, state)


@transaction.atomic
def step(operation_id: int, *, limit: int = BATCH, now: datetime | None = None) -> int:
    """Work on the next items of a running operation; return how many.

    Zero when it has ended, is not running, or somebody else is at it. What a process
    that died had not committed is done by the next step, whoever takes it.
    """
    running = Operation.objects.select_for_update(
        skip_locked=True, of=("self",)
    ).filter(pk=operation_id, state=State.RUNNING)
    operation = running.select_related("created_by").first()
    if operation is None:
        return 0
    items = planned(operation_id, limit=limit)
    work = do if operation.undoes_id is None else take_back
    work(operation, items, now)
    if len(items) < limit:
        Operation.objects.filter(pk=operation_id).update(
            state=State.DONE, ended_at=Now()
        )
    return len(items)


def running() -> list[int]:
    """The operations that have items left to work on."""
    ids = Operation.objects.filter(state=State.RUNNING).values_list("pk", flat=True)
    return list(ids)
