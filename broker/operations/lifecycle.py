"""Lifecycle of an operation: start, process in batches, end or cancel."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from broker import sql
from broker.errors import OperationNotPlanned
from broker.errors.operations import NothingChosen, NotUndone
from broker.errors.patches import NotPatchable
from broker.models import Act, Operation, OperationItem, OperationSchedule
from broker.monitoring import logs
from broker.operations import approvals, patching, scheduling
from broker.operations.auditing import note
from broker.operations.executors import do
from broker.operations.undo_plans import copy_items, plan_undo
from broker.operations.undoing import take_back
from broker.sql import database_now
from broker.sql.fencing import short_transaction

State = Operation.State

BATCH = 500  # most items of one transaction


def start(
    operation_id: int, *, limit: int = 100, now: datetime | None = None
) -> Operation:
    """Start a planned operation, and process its first items.

    A small operation is complete after this, so it needs no worker.

    Raises:
        OperationNotPlanned: it was started or cancelled before.
        PatchNotLooked: it has a patch that was not yet tested on all items.
        ReasonMissing: it needs a reason.
        ReasonNeeded, ApprovalNeeded, ApprovalExpired: required by its queues.
    """
    with transaction.atomic():
        change(operation_id, State.PLANNED, state=State.RUNNING, started_at=Now())
        operation = Operation.objects.get(pk=operation_id)
        patching.require_looked(operation_id)
        approvals.require(operation, now)
        schedule = scheduling.begin(operation_id)
        note(Act.START, operation, pace=schedule.pace, canary=schedule.canaries)
    step(operation_id, limit=limit, now=now)
    return Operation.objects.get(pk=operation_id)


@transaction.atomic
def cancel(operation_id: int) -> None:
    """Cancel an operation: processed items stay processed, the rest is not touched.

    Raises:
        OperationNotPlanned: the operation had ended before.
    """
    try:
        change(operation_id, State.PLANNED, state=State.CANCELLED, ended_at=Now())
    except OperationNotPlanned:
        change(operation_id, State.RUNNING, state=State.CANCELLED, ended_at=Now())
    note(Act.CANCEL, Operation.objects.get(pk=operation_id))


@transaction.atomic
def plan_rest(user: Any, operation_id: int, now: datetime | None = None) -> Operation:
    """Cancel a started operation, if it has not ended, and plan the same for the items
    that it has not processed: to send them with another patch.

    Raises:
        NothingChosen: it has processed all its items.
        OperationNotPlanned: it was not started.
    """
    old = scheduling.hold(operation_id, State.RUNNING, State.CANCELLED)
    if not old.items.filter(status=OperationItem.Status.PLANNED).exists():
        raise NothingChosen(old.scope)
    if old.state == State.RUNNING:
        cancel(operation_id)
    plan = Operation.objects.create(
        kind=old.kind,
        argument=old.argument,
        drops_header=old.drops_header,
        scope=old.scope,
        created_by=user,
    )
    copy_items(plan, operation_id, OperationItem.Status.PLANNED)
    approvals.ask(plan, now)
    note(Act.PLAN, plan, by=user, rest_of=operation_id)
    return plan


@transaction.atomic
def stop_and_plan_undo(
    user: Any, operation_id: int, now: datetime | None = None
) -> Operation:
    """Plan the undo of an operation. One that stopped itself is cancelled first.

    Raises:
        NotUndoable: as ``plan_undo``.
    """
    operation = Operation.objects.select_for_update().get(pk=operation_id)
    halted = OperationSchedule.objects.filter(
        pk=operation_id, stage=OperationSchedule.Stage.HALTED
    )
    if operation.state == State.RUNNING and halted.exists():
        cancel(operation_id)
    return plan_undo(user, operation_id, now=now)


@transaction.atomic
def plan_again(user: Any, operation_id: int, now: datetime | None = None) -> Operation:
    """Plan an undone operation again, for those of its messages that are where they
    were: put back, or never sent. The plan has the old reason, and no patch.

    Raises:
        NotUndone: its undo was not started, or has not ended.
        NotPatchable: it sends nothing that a patch could change.
        NothingChosen: none of its messages is there.
    """
    undone = Operation.objects.get(pk=operation_id)
    undo = Operation.objects.filter(undoes=undone, started_at__isnull=False)
    if not undo.filter(state__in=(State.DONE, State.CANCELLED)).exists():
        raise NotUndone(operation_id)
    if undone.kind not in patching.PATCHABLE:
        raise NotPatchable(operation_id)
    plan = Operation.objects.create(
        kind=undone.kind,
        argument=undone.argument,
        drops_header=undone.drops_header,
        scope=undone.scope,
        reason=undone.reason,
        created_by=user,
    )
    source = {"operation_id": plan.pk, "source": operation_id}
    (planned,) = sql.fetch_one("plan_items_again", **source)
    if not planned:
        raise NothingChosen(undone.scope)
    approvals.ask(plan, now)
    note(Act.PLAN, plan, by=user, again=operation_id)
    return plan


def change(operation_id: int, before: Operation.State, **fields: Any) -> None:
    changed = Operation.objects.filter(pk=operation_id, state=before).update(**fields)
    if not changed:
        state = Operation.objects.values_list("state", flat=True).get(pk=operation_id)
        raise OperationNotPlanned(operation_id, state)


def step(operation_id: int, *, limit: int = BATCH, now: datetime | None = None) -> int:
    """Process the next items of a running operation; return how many.

    Zero if it has ended or is not running, if another process holds it, if its rate
    allows no message now, if it is paused, or while it watches a trial. If a process
    dies, its uncommitted items are processed by the next step, in any process.
    """
    with logs.bound(operation=operation_id), short_transaction():
        return make_step(operation_id, limit, now)


def make_step(operation_id: int, limit: int, now: datetime | None) -> int:
    running = Operation.objects.select_for_update(
        skip_locked=True, of=("self",)
    ).filter(pk=operation_id, state=State.RUNNING)
    operation = running.select_related("created_by").first()
    if operation is None:
        return 0
    schedule = scheduling.locked_schedule(operation_id)
    moment = now or database_now()
    at_once = patching.at_once(operation_id, limit)
    most = scheduling.may_do(operation, schedule, at_once, moment)
    items = scheduling.next_items(schedule, most) if most else []
    if items:
        work = do if operation.undoes_id is None else take_back
        work(operation, items, now)
    is_short = len(items) < most
    if is_short and not scheduling.is_canary(schedule):
        Operation.objects.filter(pk=operation_id).update(
            state=State.DONE, ended_at=Now()
        )
    if most:
        scheduling.has_done(schedule, items, moment, is_short=is_short)
    schedule.stepped_at = moment
    schedule.save()
    return len(items)


def running() -> list[int]:
    """The operations that have items left to work on, and are not paused."""
    waits = Q(schedule__paused_at__isnull=False) | Q(
        schedule__stage=OperationSchedule.Stage.HALTED
    )
    found = Operation.objects.filter(state=State.RUNNING).exclude(waits)
    return list(found.order_by("pk").values_list("pk", flat=True))


def paced() -> list[int]:
    """The running operations with a rate limit that are sending now."""
    sending = OperationSchedule.objects.filter(pk__in=running(), pace__isnull=False)
    stages = (OperationSchedule.Stage.TRIAL, OperationSchedule.Stage.REST)
    return list(sending.filter(stage__in=stages).values_list("pk", flat=True))
