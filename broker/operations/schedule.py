"""Schedule of an operation: how many items it may process now, and how that changes.

Lock order, also for a step: the operation, then its course.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Max, QuerySet
from django.db.models.functions import Now

from broker.errors import OperationNotPlanned
from broker.models import (
    Act,
    Course,
    Kind,
    Operation,
    OperationItem,
    OperationPatch,
    Queue,
)
from broker.operations import canary as canaries
from broker.operations import copy_outcomes, error_history, rate_limit
from broker.operations.auditing import note
from broker.operations.canary import StopReason
from broker.operations.items import Item, named, planned
from broker.queueing import journal
from broker.sql import database_now

Stage, State, Status = Course.Stage, Operation.State, OperationItem.Status


def hold(operation_id: int, *states: Operation.State) -> Operation:
    """Lock an operation that is in one of the given states, so that no step runs.

    Raises:
        OperationNotPlanned: the operation is in another state.
    """
    operation = Operation.objects.select_for_update().get(pk=operation_id)
    if operation.state not in states:
        raise OperationNotPlanned(operation_id, operation.state)
    return operation


def locked_schedule(operation_id: int) -> Course:
    """The course of an operation, locked. The caller has opened a transaction."""
    courses = Course.objects.select_for_update()
    found = courses.filter(pk=operation_id).first()
    if found is None:
        Course.objects.get_or_create(pk=operation_id)
        found = courses.get(pk=operation_id)
    return found


def begin(operation_id: int) -> Course:
    """Begin the course of an operation, with its canary if it has one. The caller has
    opened a transaction."""
    course = locked_schedule(operation_id)
    course.paused_at = course.free_at = course.settled_at = None
    if course.canaries:
        canaries.pick(course)
    course.save()
    return course


@transaction.atomic
def arrange(operation_id: int, *, pace: int | None, canary: int) -> Course:
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
    course = locked_schedule(operation_id)
    course.pace = pace
    course.canaries = canary if copy_outcomes.follows(operation) else 0
    course.save(update_fields=["pace", "canaries"])
    return course


@transaction.atomic
def set_pace(operation_id: int, pace: int | None) -> None:
    """Change the rate of an operation.

    Raises:
        InvalidPace: the rate is out of range.
        OperationNotPlanned: the operation has ended.
    """
    rate_limit.check(pace)
    operation = hold(operation_id, State.PLANNED, State.RUNNING)
    course = locked_schedule(operation_id)
    course.pace, course.free_at = pace, None
    course.save(update_fields=["pace", "free_at"])
    note(Act.ALTER, operation, pace=pace)


@transaction.atomic
def pause(operation_id: int) -> None:
    """Pause a running operation until ``carry_on``.

    Raises:
        OperationNotPlanned: the operation is not running.
    """
    operation = hold(operation_id, State.RUNNING)
    locked_schedule(operation_id)
    Course.objects.filter(pk=operation_id, paused_at=None).update(paused_at=Now())
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
    course = locked_schedule(operation_id)
    moment = now or database_now()
    course.paused_at, course.free_at = None, None
    if at_once:
        go_on(course, 0, moment)
    elif course.stage == Stage.HALTED and course.halt:
        if canaries.read(course.halt).why is StopReason.UNTAKEN:
            course.stage = Stage.WATCH
        else:
            course.forgiven_to = last_copy(operation_id)
            go_on(course, canaries.next_part(course.part, course.tried), moment)
    course.halt = None
    if course.stage == Stage.WATCH:
        course.watched_since = moment
    course.save()
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


def may_do(operation: Operation, course: Course, limit: int, now: datetime) -> int:
    """How many items may be processed now. If a trial has finished, the course moves to
    the next trial or to the rest."""
    if course.paused_at is not None:
        return 0
    if course.stage == Stage.WATCH:
        found = canaries.verdict(operation, course, now)
        if isinstance(found, canaries.Halt):
            course.stage, course.halt = Stage.HALTED, found.stored()
        elif found:
            go_on(course, canaries.next_part(course.part, course.tried), now)
    if course.stage in (Stage.WATCH, Stage.HALTED):
        return 0
    if course.pace is not None:
        limit = min(limit, rate_limit.allowed(course.pace, course.free_at, now))
    return min(limit, course.to_send) if course.stage == Stage.TRIAL else limit


def go_on(course: Course, part: int, now: datetime) -> None:
    """Move the course to the next trial, or to the rest."""
    if part:
        course.stage, course.part, course.to_send = Stage.TRIAL, part, part
    else:
        course.stage, course.rest_at = Stage.REST, course.rest_at or now


def is_canary(course: Course) -> bool:
    return course.stage == Stage.TRIAL and not course.tried


def next_items(course: Course, limit: int) -> list[Item]:
    """The next items to process: items of the canary, or the next items in order."""
    if is_canary(course):
        return named(course.chosen, limit=limit)
    return planned(course.pk, limit=limit)


def has_done(
    course: Course, items: list[Item], now: datetime, *, is_short: bool
) -> None:
    """Update the course after a step. ``is_short``: fewer items were left than the step
    was allowed to process."""
    if course.pace is not None:
        course.free_at = rate_limit.spent(course.pace, course.free_at, len(items), now)
    if course.stage != Stage.TRIAL:
        return
    course.to_send = 0 if is_short else course.to_send - len(items)
    if course.tried and items:
        course.ramped_to = max(course.ramped_to, items[-1].pk)
    if not course.to_send:
        course.tried += course.part
        course.stage, course.watched_since = Stage.WATCH, now
