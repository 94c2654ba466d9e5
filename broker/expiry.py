"""Messages whose time to live is over. A get never hands them out; this ends them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from broker import sql
from broker.addresses import settings_for
from broker.models import DeadLetter, Kind, Place, Queue
from broker.moves import Held, Record, copy, end, takes

logger = logging.getLogger(__name__)

WARNED: set[int] = set()
REASON = "The message's time to live was over before it was delivered."


def expire(*, limit: int, now: datetime | None = None) -> int:
    """End expired entries, at most ``limit`` of each place; return how many."""
    with transaction.atomic():
        ready = sql.fetch("take_expired_ready", Held, limit=limit, now=now)
        end_expired(ready, Place.READY, now=now)
    with transaction.atomic():
        delayed = sql.fetch("take_expired_delayed", Held, limit=limit, now=now)
        end_expired(delayed, Place.DELAYED, now=now)
    return max(len(ready), len(delayed))


def end_expired(
    entries: Sequence[Held],
    came_from: Place,
    *,
    uow: int | None = None,
    now: datetime | None = None,
) -> None:
    """Copy expired entries to their expiry addresses; drop those that have none.

    Source:
        ActiveMQ Artemis manual, "Message Expiry": without an expiry address, or with
        none of its queues to take it, the message is dropped.
    """
    by_queue: dict[int, list[Held]] = defaultdict(list)
    for entry in entries:
        by_queue[entry.queue_id].append(entry)
    addresses = dict(
        Queue.objects.filter(pk__in=by_queue).values_list("pk", "address__name")
    )
    for queue_id, expired in by_queue.items():
        address = addresses.get(queue_id, "")  # none, when its queue was deleted
        to = settings_for(address).expiry_address if address else ""
        record = Record(Kind.EXPIRE, came_from, uow, "", {"error": REASON}, now)
        if to and to != address and takes(to):
            copy(expired, to, record, cause=DeadLetter.Cause.EXPIRED)
        else:
            end(expired, record)
            warn_once(queue_id, to or "")


def warn_once(queue_id: int, to: str) -> None:
    """Say that expired messages of a queue are dropped; once in each process."""
    if queue_id not in WARNED:
        WARNED.add(queue_id)
        why = f"{to!r} takes nothing from it" if to else "no expiry address is set"
        logger.warning("Expired messages of queue %d are dropped: %s.", queue_id, why)
