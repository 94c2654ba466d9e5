"""Schedule of an operation: how many items it may process now, and how that changes.

Lock order, also for a step: the operation, then its schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, QuerySet
from django.db.models.functions import Now

from broker.errors import OperationNotPlanned
from broker.errors.operations import InvalidStart
from broker.models import (
    Act,
    Approval,
    Kind,
    Operation,
    OperationItem,
    OperationPatch,
    OperationSchedule,
    Queue,
)
from broker.operations import approvals, copy_outcomes, error_history, rate_limit
from broker.operations import canary as canaries
from broker.operations.auditing import note
from broker.operations.canary import StopReason
from broker.operations.commands import LATEST
from broker.operations.items import Item, named, planned
from broker.queueing import journal
from broker.security import authorities
from broker.sql import database_now

Stage, State, Status = OperationSchedule.Stage, Operation.State, OperationItem.Status


def hold(operation_id: int, *states: Operation.State) -> Operation:
    """Lock an operation that is in one of the given states, so that no step runs.

    Raises:
        OperationNotPlanned: the operation is in another state.
    """
    operation = Operation.objects.select_for_update().get(pk=operation_id)
    if operation.state not in states:
        raise OperationNotPlanned(operation_id, operation.state)
    return operation


def locked_schedule(operation_id: int) -> OperationSchedule:
    """The schedule of an operation, locked. The caller has opened a transaction."""
    schedules = OperationSchedule.objects.select_for_update()
    found = schedules.filter(pk=operation_id).first()
    if found is None:
        OperationSchedule.objects.get_or_create(pk=operation_id)
        found = schedules.get(pk=operation_id)
    return found


def begin(operation_id: int) -> OperationSchedule:
    """Begin the schedule of an operation, with its canary if it has one. The caller has
    opened a transaction."""
    schedule = locked_schedule(operation_id)
    schedule.paused_at = schedule.free_at = schedule.settled_at = None
    if schedule.canaries:
        canaries.pick(schedule)
    schedule.save()
    return schedule


@transaction.atomic
def arrange(operation_id: int, *, pace: int | None, canary: int) -> OperationSchedule:
    """Set the rate and the canary of a planned operation.

    Args:
        operation_id: id of the plan.
        pace: the highest rate in messages per second; None: no limit.
        canary: number of messages to send and watch first; 0: no canary.

    Raises:
        InvalidPace: the rate is out of range.
        InvalidCanary: the canary is too large to be watched.
        OperationNotPlanned: the operation was started or cancelled before.
    """
    rate_limit.check(pace)
    canaries.check(canary)
    operation = hold(operation_id, State.PLANNED)
    schedule = locked_schedule(operation_id)
    schedule.pace = pace
    schedule.canaries = canary if copy_outcomes.follows(operation) else 0
    schedule.save(update_fields=["pace", "canaries"])
    return schedule


@transaction.atomic
def set_start(
    operation_id: int, at: datetime | None, user: Any, now: datetime | None = None
) -> None:
    """Set when a plan starts by itself, or that it does not.

    Args:
        operation_id: id of the plan.
        at: the time; None: when somebody starts it.
        user: on whose behalf it starts.
        now: the current time; the database's clock when not given.

    Raises:
        InvalidStart: it cannot start then.
        OperationNotPlanned: the operation was started or cancelled before.
        ReasonMissing, ReasonNeeded: it needs a reason to start.
    """
    operation = hold(operation_id, State.PLANNED)
    schedule = locked_schedule(operation_id)
    schedule.start_at, schedule.start_problem = at, ""
    schedule.start_by = schedule.start_through = None
    if at is not None:
        require_startable(operation, at, now or database_now())
        schedule.start_by = user
        schedule.start_through = authorities.credential_of(user)
    schedule.save(
        update_fields=["start_at", "start_problem", "start_by", "start_through"]
    )
    note(Act.ALTER, operation, start_at=at and at.isoformat(timespec="seconds"))


def require_startable(operation: Operation, at: datetime, now: datetime) -> None:
    """Refuse a time at which a plan could not start."""
    approvals.require_reason(operation)
    found = Approval.objects.filter(pk=operation.pk, expires_at__lte=at).first()
    for applies, why in (
        (at <= now, "that time has passed"),
        (at > now + LATEST, "that is more than a year away"),
        (found, "its approval expires before that time"),
    ):
        if applies:
            raise InvalidStart(operation.pk, why)


@transaction.atomic
def set_pace(operation_id: int, pace: int | None) -> None:
    """Change the rate of an operation.

    Raises:
        InvalidPace: the rate is out of range.
        OperationNotPlanned: the operation has ended.
    """
    rate_limit.check(pace)
    operation = hold(operation_id, State.PLANNED, State.RUNNING)
    schedule = locked_schedule(operation_id)
    schedule.pace, schedule.free_at = pace, None
    schedule.save(update_fields=["pace", "free_at"])
    note(Act.ALTER, operation, pace=pace)


@transaction.atomic
def pause(operation_id: int) -> None:
    """Pause a running operation until ``carry_on``.

    Raises:
        OperationNotPlanned: the operation is not running.
    """
    operation = hold(operation_id, State.RUNNING)
    locked_schedule(operation_id)
    OperationSchedule.objects.filter(pk=operation_id, paused_at=None).update(
        paused_at=Now()
    )
    note(Act.HALT, operation)


@transaction.atomic
def carry_on(
    operation_id: int, *, at_once: bool = False, now: datetime | None = None
) -> None:
    """Continue an operation that was paused, or that stopped itself.

    Messages that have died so far no longer count. If it stopped because no consumer
    got the trial, it waits again.

    Args:
        operation_id: id of a running operation.
        at_once: send all remaining messages without further trials.
        now: the current time; the database's clock when not given.

    Raises:
        OperationNotPlanned: the operation is not running.
    """
    operation = hold(operation_id, State.RUNNING)
    schedule = locked_schedule(operation_id)
    moment = now or database_now()
    schedule.paused_at, schedule.free_at = None, None
    if at_once:
        go_on(schedule, 0, moment)
    elif schedule.stage == Stage.HALTED and schedule.halt:
        if canaries.read(schedule.halt).why is StopReason.UNTAKEN:
            schedule.stage = Stage.WATCH
        else:
            schedule.forgiven_to = last_copy(operation_id)
            go_on(schedule, canaries.next_part(schedule.part, schedule.tried), moment)
    schedule.halt = None
    if schedule.stage == Stage.WATCH:
        schedule.watched_since = moment
    schedule.save()
    note(Act.CARRY_ON, operation, at_once=at_once)


def last_copy(operation_id: int) -> int:
    """The message id of the newest copy that an operation made; 0 if there is none."""
    done = OperationItem.objects.filter(operation=operation_id, status=Status.DONE)
    return done.aggregate(last=Max("copy_id"))["last"] or 0


def usual_canary(operation: Operation, goals: Mapping[str, int] | None = None) -> int:
    """The default size of the canary of a plan.

    Args:
        operation: the plan.
        goals: its planned messages by target, if the caller has counted them.
    """
    if goals is None:
        items = operation.items.filter(status=Status.PLANNED)
        counted = items.values_list("target").annotate(Count("pk")).order_by()
        goals = dict(counted)
    depths = journal.depths(ids_of(Queue.objects.filter(name__in=goals)))
    taken = [depth.done[Kind.GET] for depth in depths.values()]
    messages = sum(goals.values())
    return canaries.usual(
        operation,
        messages,
        # In a large plan, the errors make no difference, and take long to read.
        [] if messages > canaries.LARGE else error_history.planned(operation.pk),
        has_consumers=any(taken),
        has_patch=OperationPatch.objects.filter(pk=operation.pk).exists(),
    )


def ids_of(queues: QuerySet[Queue]) -> set[int]:
    return set(queues.values_list("pk", flat=True))


def may_do(
    operation: Operation, schedule: OperationSchedule, limit: int, now: datetime
) -> int:
    """How many items may be processed now. If a trial has finished, the schedule moves
    to the next trial or to the rest."""
    if schedule.paused_at is not None:
        return 0
    if schedule.stage == Stage.WATCH:
        found = canaries.verdict(operation, schedule, now)
        if isinstance(found, canaries.Halt):
            schedule.stage, schedule.halt = Stage.HALTED, found.stored()
        elif found:
            go_on(schedule, canaries.next_part(schedule.part, schedule.tried), now)
    if schedule.stage in (Stage.WATCH, Stage.HALTED):
        return 0
    if schedule.pace is not None:
        limit = min(limit, rate_limit.allowed(schedule.pace, schedule.free_at, now))
    return min(limit, schedule.to_send) if schedule.stage == Stage.TRIAL else limit


def go_on(schedule: OperationSchedule, part: int, now: datetime) -> None:
    """Move the schedule to the next trial, or to the rest."""
    if part:
        schedule.stage, schedule.part, schedule.to_send = Stage.TRIAL, part, part
    else:
        schedule.stage, schedule.rest_at = Stage.REST, schedule.rest_at or now


def is_canary(schedule: OperationSchedule) -> bool:
    return schedule.stage == Stage.TRIAL and not schedule.tried


def next_items(schedule: OperationSchedule, limit: int) -> list[Item]:
    """The next items to process: items of the canary, or the next items in order."""
    if is_canary(schedule):
        return named(schedule.chosen, limit=limit)
    return planned(schedule.pk, limit=limit)


def has_done(
    schedule: OperationSchedule, items: list[Item], now: datetime, *, is_short: bool
) -> None:
    """Update the schedule after a step. ``is_short``: fewer items were left than the
    step was allowed to process."""
    if schedule.pace is not None:
        schedule.free_at = rate_limit.spent(
            schedule.pace, schedule.free_at, len(items), now
        )
    if schedule.stage != Stage.TRIAL:
        return
    schedule.to_send = 0 if is_short else schedule.to_send - len(items)
    if schedule.tried and items:
        schedule.ramped_to = max(schedule.ramped_to, items[-1].pk)
    if not schedule.to_send:
        schedule.tried += schedule.part
        schedule.stage, schedule.watched_since = Stage.WATCH, now
