"""Put recurring messages when they are due, and at once when somebody asks for it.

A message is put and its next time stored in one transaction that has locked its row. So
each time is met once, however many processes do the housekeeping. Times that passed
while nobody did it are met by one message.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from django.db import transaction
from django.db.models import (
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    Func,
    Min,
)

from broker.errors import BrokerError
from broker.models import Act, RecurringMessage
from broker.queueing.put import Receipt, put
from broker.security import audit, authorities
from broker.sql import database_now
from broker.sql.fencing import short_transaction

# Properties of the messages that are put.
NAME, DUE = "backout_schedule", "backout_due_at"
PLAN = ["next_at", "last_at", "last_message_id", "problem"]


def put_due(*, limit: int, now: datetime | None = None) -> int:
    """Put the messages that are due, at most ``limit``; return their number."""
    done = 0
    while done < limit and put_next_due(now or database_now()):
        done += 1
    return done


@short_transaction()
def put_next_due(now: datetime) -> bool:
    """Put one message that is due; return False if there is none that no other process
    has locked."""
    due = RecurringMessage.objects.filter(next_at__lte=now).order_by("next_at")
    one = due.select_for_update(skip_locked=True).first()
    if one is None:
        return False
    assert one.next_at is not None
    one.last_at, one.problem, one.last_message_id = one.next_at, "", None
    try:
        with transaction.atomic():
            one.last_message_id = send(one, one.next_at, now).message_id
    except BrokerError as refusal:
        one.problem = str(refusal)[:500]
    one.next_at = one.after(now)
    one.save(update_fields=PLAN)
    return True


@transaction.atomic
def put_now(
    name: str,
    *,
    user: authorities.Principal = None,
    reason: str = "",
    now: datetime | None = None,
) -> Receipt:
    """Put a message at once, whether it is switched on or not; its next time stays.

    Raises:
        RecurringMessage.DoesNotExist: there is none of that name.
        NotAuthorized: the user lacks the authority to put to its address.
        BrokerError: the put is refused.
    """
    one = RecurringMessage.objects.get(name=name)
    authorities.require(user, "put", one.address)
    at = now or database_now()
    receipt = send(one, at, at)
    audit.record(Act.PUT_RECURRING, one, by=user, reason=reason)
    return receipt


def send(one: RecurringMessage, due: datetime, now: datetime) -> Receipt:
    about = {NAME: one.name, DUE: due.isoformat(timespec="seconds")}
    return put(
        one.address,
        one.body.encode(),
        content_type=one.content_type,
        subject=one.subject or None,
        properties={**one.properties, **about},
        priority=one.priority,
        producer="recurring messages",
        now=now,
    )


def until_next() -> timedelta | None:
    """The time until the next recurring message is due; like
    ``delayed.until_next_due``."""
    clock = Func(function="clock_timestamp", output_field=DateTimeField())
    left = ExpressionWrapper(Min("next_at") - clock, DurationField())
    waiting = RecurringMessage.objects.filter(next_at__isnull=False)
    return cast("timedelta | None", waiting.aggregate(left=left)["left"])
