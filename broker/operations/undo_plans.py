"""Plan an undo: an operation on the processed items of another operation."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from broker import sql
from broker.errors.operations import NotUndoable
from broker.models import Act, Operation, OperationItem
from broker.operations.auditing import note
from broker.sql import database_now

State, Status = Operation.State, OperationItem.Status

NOT_ENDED = "it has not ended"
IS_AN_UNDO = "it is an undo itself"
TOO_LATE = "the time for that is over"
UNDONE = "it was undone before, or is being undone"
NOTHING = "it did nothing"


def undo_until(operation: Operation) -> datetime | None:
    """The time until which an operation can be undone; None if the operation has not
    ended, or is an undo itself."""
    if operation.ended_at is None or operation.undoes_id is not None:
        return None
    return operation.ended_at + timedelta(seconds=settings.BROKER_UNDO_WINDOW_S)


def why_not_undoable(operation: Operation, now: datetime) -> str:
    """The reason why an operation cannot be undone, as the end of a sentence; empty if
    it can."""
    until = undo_until(operation)
    undone = Operation.objects.filter(undoes=operation).exclude(state=State.CANCELLED)
    rules = [
        (operation.undoes_id is not None, IS_AN_UNDO),
        (operation.ended_at is None, NOT_ENDED),
        (until is not None and now > until, TOO_LATE),
        (undone.exists(), UNDONE),
        (not operation.items.filter(status=Status.DONE).exists(), NOTHING),
    ]
    return next((why for applies, why in rules if applies), "")


@transaction.atomic
def plan_undo(
    user: Any, operation_id: int, *, reason: str = "", now: datetime | None = None
) -> Operation:
    """Plan the undo of an operation; nothing is undone yet.

    A cancelled undo is planned again, with the items it has not processed.

    Args:
        user: the user who plans it.
        operation_id: id of the operation to undo.
        reason: text that the audit records.
        now: the current time; the database's clock when not given.

    Raises:
        NotUndoable: it has not ended, did nothing, is an undo itself, was undone
            before, or ended too long ago.
    """
    operation = Operation.objects.get(pk=operation_id)
    why = why_not_undoable(operation, now or database_now())
    if why:
        raise NotUndoable(operation_id, why)
    again = Operation.objects.filter(undoes=operation, state=State.CANCELLED)
    fresh = {"created_by": user, "reason": reason, "created_at": Now()}
    if again.update(state=State.PLANNED, started_at=None, ended_at=None, **fresh):
        undo = Operation.objects.get(undoes=operation)
        note(Act.UNDO, undo, by=user)
        return undo
    try:
        with transaction.atomic():
            undo = Operation.objects.create(
                kind=operation.kind,
                argument=operation.argument,
                scope=operation.scope,
                undoes=operation,
                created_by=user,
                reason=reason,
            )
    except IntegrityError as error:
        if not sql.is_duplicate(error):
            raise
        # A duplicate: another transaction has planned the undo.
        raise NotUndoable(operation_id, UNDONE) from None
    copy_items(undo, operation_id, Status.DONE)
    note(Act.UNDO, undo, by=user)
    return undo


def copy_items(plan: Operation, source_id: int, status: OperationItem.Status) -> None:
    """Create the items of a plan from an operation's items with this status."""
    sql.fetch_one(
        "plan_items_of", operation_id=plan.pk, source=source_id, status=status
    )
