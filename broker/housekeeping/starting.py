"""Plans of operations start at their time, on behalf of who set it.

A start is the act that a person orders, so all that this person needs is checked again.
"""

from __future__ import annotations

from datetime import UTC, datetime

from broker.acts import act
from broker.acts.operations.control import StartOperation
from broker.errors import BrokerError
from broker.errors.operations import InvalidStart
from broker.models import Act, Operation, OperationSchedule
from broker.security import audit, authorities, credentials
from broker.security.authorities import Principal
from broker.sql import database_now
from broker.sql.fencing import short_transaction

REVOKED = "the credential by which its time was set is no longer valid"


def start_due(*, limit: int, now: datetime | None = None) -> int:
    """Start the plans whose time has come, at most ``limit``; return their number, with
    those that could not start."""
    done = 0
    while done < limit and start_next(now or database_now()):
        done += 1
    return done


@short_transaction()
def start_next(now: datetime) -> bool:
    """Start one plan, or note why it cannot start; return False if none is due that no
    other process has locked."""
    due = Operation.objects.filter(
        state=Operation.State.PLANNED,
        schedule__start_at__lte=now,
        schedule__start_problem="",
    ).order_by("schedule__start_at", "pk")
    one = due.select_for_update(skip_locked=True, of=("self",)).first()
    if one is None:
        return False
    about = ("start_by", "start_through__user")
    schedule = OperationSchedule.objects.select_related(*about).get(pk=one.pk)
    credential = schedule.start_through
    with audit.acting(lambda: audit.Actor.of(credential or schedule.start_by)):
        try:
            start_for(schedule)
        except BrokerError as refusal:
            assert schedule.start_at is not None
            at = schedule.start_at.astimezone(UTC).isoformat(timespec="seconds")
            on = audit.Thing("operation", one.pk, f"{one.kind} {one.pk}")
            audit.refuse(Act.START, on, reason=str(refusal), detail={"start_at": at})
            schedule.start_problem = str(refusal)[: audit.LONGEST]
            schedule.save(update_fields=["start_problem"])
    return True


def start_for(schedule: OperationSchedule) -> None:
    """Start a plan on behalf of who set its time.

    Raises:
        InvalidStart: it was set by a credential that is no longer valid.
        BrokerError: as the act.
    """
    actor: Principal = schedule.start_by
    credential = schedule.start_through
    if credential is not None:
        if not credentials.good().filter(pk=credential.pk).exists():
            raise InvalidStart(schedule.pk, REVOKED)
        actor = authorities.through(credential)
    act(actor, StartOperation(schedule.pk))
