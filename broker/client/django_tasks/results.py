"""The result of a task: what the journal says of its message and of its copies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q

from broker.client.django_tasks.framework import (
    BaseTaskBackend,
    TaskError,
    TaskResult,
    TaskResultStatus,
)
from broker.client.django_tasks.messages import SUBJECT, call_of
from broker.models import DeadLetter, Kind, Message, Place, Returned
from broker.queueing import journal
from broker.queueing.journal import LifelineEvent

LONGEST_ID = 19  # most digits of the id of a result
FAILED = {Kind.BACK_OUT, Kind.DEAD_LETTER}
# The exception of an attempt that ended because its process died, or its lease ended.
LOST = "broker.errors.LockLost"


def result_of(backend: Any, result_id: str) -> TaskResult | None:
    """The result with an id; None if this backend has none.

    Raises:
        NoTask: the task is not there any more.
    """
    if not (
        result_id.isascii() and result_id.isdigit() and len(result_id) <= LONGEST_ID
    ):
        return None
    number = int(result_id)
    lives = list(
        Message.objects.filter(Q(pk=number) | Q(first_id=number), subject=SUBJECT)
        .defer("headers", "envelope")
        .order_by("pk")
    )
    if not lives or lives[0].pk != number or lives[0].first_id is not None:
        return None
    if lives[0].properties.get("backend", "default") != backend.alias:
        return None
    return made(backend, lives)


def made(backend: BaseTaskBackend, lives: Sequence[Message]) -> TaskResult:
    """The result of a task, from its message and the copies of it, the oldest first."""
    first, last = lives[0], lives[-1]
    ids = [one.pk for one in lives]
    events = sorted(
        (event for one in ids for event in journal.events_of(one)),
        key=lambda event: (event.at, event.seq),
    )
    dead = dead_among(ids)
    status = status_of(lives, events, dead)
    attempts = list(attempts_in(events, dead))
    queue = first.address.removeprefix(backend.options.get("PREFIX", ""))
    call = call_of(first.properties, last.body, queue=queue, alias=backend.alias)
    result: TaskResult[Any, Any] = TaskResult(
        task=call.task,
        id=str(first.pk),
        status=status,
        enqueued_at=first.put_at,
        started_at=attempts[0].at if attempts else None,
        last_attempted_at=attempts[-1].at if attempts else None,
        finished_at=ended_at(status, events),
        args=call.args,
        kwargs=call.kwargs,
        backend=backend.alias,
        errors=[error_of(one) for one in events if is_failure(one, dead)],
        worker_ids=[str(one.uow) for one in attempts],
    )
    if status == TaskResultStatus.SUCCESSFUL:
        rows = Returned.objects.filter(pk__in=ids).order_by("-pk")
        value = rows.values_list("value", flat=True).first()
        object.__setattr__(result, "_return_value", value)
    return result


def dead_among(ids: Sequence[int]) -> set[int]:
    """The messages that are dead letters; only copies can be dead letters."""
    copies = ids[1:]
    if not copies:
        return set()
    rows = DeadLetter.objects.filter(message_id__in=copies)
    return set(rows.values_list("message_id", flat=True))


def status_of(
    lives: Sequence[Message], events: Sequence[LifelineEvent], dead: set[int]
) -> TaskResultStatus:
    """The status by the last event of the newest message that is on a queue; if there
    is none, by the last event of the newest message."""
    last = {event.message_id: event for event in events}
    ids = [one.pk for one in lives]
    here = [one for one in ids if one in last and last[one].went_to is not None]
    now = here[-1] if here else ids[-1]
    if now in dead:
        return TaskResultStatus.FAILED
    event = last.get(now)
    if event is None or event.went_to in (Place.READY, Place.DELAYED):
        return TaskResultStatus.READY
    if event.went_to == Place.CLAIMED:
        return TaskResultStatus.RUNNING
    if event.kind == Kind.ACCEPT:
        return TaskResultStatus.SUCCESSFUL
    return TaskResultStatus.FAILED


def attempts_in(
    events: Sequence[LifelineEvent], dead: set[int]
) -> Iterable[LifelineEvent]:
    """The gets that were attempts: not those of dead letters, nor released ones."""
    released = {one.uow for one in events if one.kind == Kind.RELEASE}
    for one in events:
        is_attempt = one.kind == Kind.GET and one.uow not in released
        if is_attempt and one.message_id not in dead:
            yield one


def is_failure(event: LifelineEvent, dead: set[int]) -> bool:
    is_attempt = event.kind in FAILED and event.message_id not in dead
    return is_attempt and "error" in event.detail


def error_of(event: LifelineEvent) -> TaskError:
    error = str(event.detail["error"])
    return TaskError(
        exception_class_path=str(event.detail.get("exception", LOST)),
        traceback=str(event.detail.get("stack", error)),
    )


def ended_at(
    status: TaskResultStatus, events: Sequence[LifelineEvent]
) -> datetime | None:
    """When the task ended; None if it has not."""
    if status not in (TaskResultStatus.SUCCESSFUL, TaskResultStatus.FAILED):
        return None
    ends = [one.at for one in events if one.came_from == Place.CLAIMED]
    return ends[-1] if ends else events[-1].at if events else None
