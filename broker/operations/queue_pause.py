"""Pause and resume a queue. A paused queue accepts puts but no gets.

A pause lasts until somebody ends it, or until a time by the database's clock: then the
housekeeping resumes the queue.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django.db import transaction
from django.db.models import (
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    Func,
    Min,
)
from django.db.models.functions import Now

from broker.config.names import local_queue
from broker.errors.queues import PauseEndPassed
from broker.formats import moments
from broker.models import Act, AuditRecord, Queue
from broker.queueing import notifications
from broker.security import audit, authorities
from broker.sql import database_now
from broker.sql.fencing import short_transaction

HOUSEKEEPING = audit.Actor(AuditRecord.Actor.SYSTEM, "housekeeping")


@transaction.atomic
def pause(
    queue: str,
    *,
    until: datetime | None = None,
    user: authorities.Principal = None,
    reason: str = "",
) -> bool:
    """Pause a queue; return False if it was paused already, until the same time.

    Args:
        queue: name of the queue.
        until: when it resumes by itself; None: when somebody resumes it. Replaces the
            end of a pause that lasts.
        user: the user who pauses it; None is the application itself.
        reason: text that the audit records.

    Raises:
        NoSuchQueue: there is no queue of that name.
        NotAuthorized: the user lacks the authority to set the queue.
        PauseEndPassed: ``until`` is in the past.
    """
    if until is not None and until <= database_now():
        raise PauseEndPassed(queue, until)
    found = authorized(queue, user)
    return switch(found, user, reason, paused=True, until=until)


@transaction.atomic
def resume(queue: str, *, user: authorities.Principal = None, reason: str = "") -> bool:
    """Resume a queue; return False if it was not paused. See ``pause``."""
    return switch(authorized(queue, user), user, reason, paused=False)


@short_transaction()
def resume_due(*, limit: int) -> int:
    """Resume queues whose pauses have ended, at most ``limit``; return their number.

    Queues that another transaction changes are left to the next call.
    """
    due = Queue.objects.filter(paused_until__lte=Now()).order_by("paused_until")
    ended = list(due.select_for_update(skip_locked=True, no_key=True)[:limit])
    with audit.acting(lambda: HOUSEKEEPING):
        for queue in ended:
            assert queue.paused_until is not None
            at = moments.in_utc(queue.paused_until)
            why = f"Its pause was until {at}."
            switch(queue, None, why, paused=False)
    return len(ended)


def until_next_end() -> timedelta | None:
    """The time until the next pause ends; as ``delayed.until_next_due``."""
    clock = Func(function="clock_timestamp", output_field=DateTimeField())
    left = ExpressionWrapper(Min("paused_until") - clock, DurationField())
    # This is the condition of a partial index; without it, all queues would be read.
    ending = Queue.objects.filter(paused_until__isnull=False)
    return cast("timedelta | None", ending.aggregate(left=left)["left"])


def authorized(name: str, user: authorities.Principal) -> Queue:
    """The queue of a name, locked until the transaction ends."""
    found = local_queue(name)
    authorities.require(user, "set", found.name)
    return Queue.objects.select_for_update(no_key=True).get(pk=found.pk)


def switch(
    queue: Queue,
    user: authorities.Principal,
    reason: str,
    *,
    paused: bool,
    until: datetime | None = None,
) -> bool:
    """Change a locked queue."""
    before, queue.paused = queue.paused, paused
    ended, queue.paused_until = queue.paused_until, until
    changed: dict[str, Any] = {"paused": {"before": before, "after": paused}}
    is_new = (before, ended) != (paused, until)
    if ended or until:
        changed["paused_until"] = {
            "before": audit_time(ended),
            "after": audit_time(until),
        }
    if is_new:
        queue.save(update_fields=["paused", "paused_until"])
    act = Act.PAUSE if paused else Act.RESUME
    audit.record(act, queue, by=user, reason=reason, detail={"changed": changed})
    if before and not paused:
        notifications.announce_on_commit({queue.pk})
    return is_new


def audit_time(at: datetime | None) -> str | None:
    """A time in the audit."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds")
