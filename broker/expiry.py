"""Messages whose time to live is over. A get never hands them out; this ends them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from broker import sql
from broker.addresses import Policy, policy_of, settings_for
from broker.models import DeadLetter, Kind, Place, Queue
from broker.moves import Held, Record, copy, end, takes
from broker.report_messages import tell_of_expiry

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
    came_from: Place | None,
    *,
    uow: int | None = None,
    now: datetime | None = None,
) -> None:
    """Copy expired entries to their expiry addresses; drop those that have none. Tell
    their senders, if they asked for that.

    Source:
        ActiveMQ Artemis manual, "Message Expiry": without an expiry address, or with
        none of its queues to take it, the message is dropped.
    """
    by_queue: dict[int, list[Held]] = defaultdict(list)
    for entry in entries:
        by_queue[entry.queue_id].append(entry)
    queues = Queue.objects.select_related("address").in_bulk(by_queue)
    for queue_id, expired in by_queue.items():
        queue = queues.get(queue_id)  # none, when it was deleted
        record = Record(Kind.EXPIRE, came_from, uow, "", {"error": REASON}, now)
        to = expiry_address_of(queue) if queue is not None else ""
        if to:
            copy(expired, to, record, cause=DeadLetter.Cause.EXPIRED)
        else:
            end(expired, record)
        tell_of_expiry(expired, now=now)


def expiry_address_of(queue: Queue) -> str:
    """Where what expires on a queue goes; empty where it is dropped, with a warning if
    that is not by the rules.

    Source:
        IBM MQ, "Expiry": what expired is discarded, never dead-lettered. So it is where
        the poison policy is IBM MQ's.
    """
    address = queue.address.name
    rule = settings_for(address)
    if policy_of(rule, queue.backout_threshold) is Policy.IBM:
        return ""
    to = rule.expiry_address or ""
    if not to or to == address or not takes(to):
        warn_once(queue.pk, to)
        return ""
    return to


def warn_once(queue_id: int, to: str) -> None:
    """Say that expired messages of a queue are dropped; once in each process."""
    if queue_id not in WARNED:
        WARNED.add(queue_id)
        why = f"{to!r} takes nothing from it" if to else "no expiry address is set"
        logger.warning("Expired messages of queue %d are dropped: %s.", queue_id, why)
