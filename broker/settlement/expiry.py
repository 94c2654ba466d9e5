"""Expiry: end entries whose time to live is over. A get never delivers them.

The scan (``expire``) runs once in ``BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S``. If that is
long, or off, a get that finds nothing ends expired entries at the head of its queue
(``expire_on``).
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.conf import settings
from django.db import transaction

from broker import sql
from broker.config.address_settings import Policy, merge, policy_of, settings_for
from broker.config.auto_create import ensure
from broker.errors.mq_codes import Feedback
from broker.models import AddressSetting, DeadLetter, Kind, Message, Place, Queue
from broker.queueing.report_messages import send_all
from broker.queueing.transfer import Copy, Record, TakenEntry, copy, end

logger = logging.getLogger(__name__)

WARNED: set[int] = set()
REASON = "The message's time to live was over before it was delivered."
BEAT_S = 1.0  # shortest time between two scans
HEAD = 1000  # entries of each priority that a get checks
AT_ONCE = 100  # most entries that a get ends


class Scans:
    """When this process has scanned, by its monotonic clock."""

    def __init__(self) -> None:
        self.last_s = -math.inf  # start of the last scan that was completed

    def are_due(self, now_s: float) -> bool:
        """Whether the next scan is due; it may start one beat early rather than
        late."""
        period_s: float = settings.BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S
        return period_s >= 0 and now_s - self.last_s >= period_s - BEAT_S


SCANS = Scans()


def expire(*, limit: int, now: datetime | None = None) -> int:
    """End expired entries, at most ``limit`` ready and ``limit`` delayed; return the
    larger number."""
    with transaction.atomic():
        ready = sql.fetch("take_expired_ready", TakenEntry, limit=limit, now=now)
        end_expired(ready, Place.READY, now=now)
    with transaction.atomic():
        delayed = sql.fetch("take_expired_delayed", TakenEntry, limit=limit, now=now)
        end_expired(delayed, Place.DELAYED, now=now)
    return max(len(ready), len(delayed))


def expire_on(queue: str, *, limit: int = AT_ONCE, now: datetime | None = None) -> int:
    """End expired entries at the head of a queue; called by a get that found nothing.

    So a queue with consumers needs no scan. Nothing is done if the scan runs every
    second, or if the queue is paused.

    Returns:
        The number of ended entries, at most ``limit``.
    """
    if 0 <= settings.BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S <= BEAT_S:
        return 0
    with transaction.atomic():
        met = sql.fetch(
            "take_expired_on", TakenEntry, queue=queue, limit=limit, scan=HEAD, now=now
        )
        end_expired(met, Place.READY, now=now)
    return len(met)


def end_expired(
    entries: Sequence[TakenEntry],
    came_from: Place | None,
    *,
    uow: int | None = None,
    now: datetime | None = None,
) -> None:
    """Copy expired entries to their expiry addresses, or discard those without one.
    Send the reports that their senders asked for.

    Source:
        ActiveMQ Artemis manual, "Message Expiry": the message is dropped if there is no
        expiry address, or if no queue of the address takes it.
    """
    if not entries:
        return
    by_queue: dict[int, list[TakenEntry]] = defaultdict(list)
    for entry in entries:
        by_queue[entry.queue_id].append(entry)
    queues = Queue.objects.select_related("address").in_bulk(by_queue)
    every = list(AddressSetting.objects.all())
    for queue_id, expired in by_queue.items():
        queue = queues.get(queue_id)  # None: the queue was deleted
        record = Record(Kind.EXPIRE, came_from, uow, "", {"error": REASON}, now)
        if queue is None:
            end(expired, record)
        else:
            end_on(queue, expired, record, rule=merge(queue.address.name, every))
    asking = set(sql.fetch("asking", int, ids=[entry.id for entry in entries]))
    for expired in by_queue.values() if asking else ():  # few request a report
        tell_of_expiry([one for one in expired if one.id in asking], now=now)


def tell_of_expiry(entries: Sequence[TakenEntry], *, now: datetime | None) -> None:
    """Send the reports that expired messages of one queue request."""
    send_all(
        Feedback.EXPIRATION,
        [(entry.id, entry.queue_id) for entry in entries],
        priorities={entry.id: entry.priority for entry in entries},
        now=now,
    )


def end_on(
    queue: Queue,
    entries: Sequence[TakenEntry],
    record: Record,
    *,
    rule: AddressSetting | None = None,
) -> list[Copy]:
    """End expired entries of one queue; see ``end_expired``. No report is sent.

    Args:
        queue: the queue of the entries.
        entries: entries that this transaction has taken.
        record: data for the journal rows.
        rule: the merged settings of the queue's address; None: they are read here.

    Returns:
        The copies; a discarded entry has none.
    """
    rule = rule or settings_for(queue.address.name)
    to = expiry_address_of(queue, rule)
    if not to:
        end(entries, record)
        return []
    if rule.auto_create_expiry_resources:
        make_resources(entries, to, rule)
    drop = partial(drop_all, queue, record)
    return copy(entries, to, record, cause=DeadLetter.Cause.EXPIRED, untaken=drop)


def expiry_address_of(queue: Queue, rule: AddressSetting | None = None) -> str:
    """The expiry address of a queue; empty if expired messages are discarded. A warning
    is logged unless the poison policy says that they are discarded.

    Source:
        IBM MQ, "Expiry": an expired message is discarded, never dead-lettered. Queues
        with IBM MQ's poison policy do the same.
    """
    rule = rule or settings_for(queue.address.name)
    to = expiry_target(queue, rule)
    if not to and policy_of(rule, queue.backout_threshold) is not Policy.IBM:
        unset = not rule.expiry_address
        warn_once(
            queue, "no expiry address is set" if unset else "it is the expiry address"
        )
    return to


def expiry_target(queue: Queue, rule: AddressSetting) -> str:
    """Like ``expiry_address_of``, but without a warning."""
    if policy_of(rule, queue.backout_threshold) is Policy.IBM:
        return ""
    to = rule.expiry_address or ""
    return "" if to == queue.address.name else to


def drop_all(
    queue: Queue, record: Record, entries: Sequence[TakenEntry], why: str
) -> None:
    """Discard entries that no queue of the expiry address takes."""
    warn_once(queue, why)
    end(entries, record)


def warn_once(queue: Queue, why: str) -> None:
    """Warn that expired messages of a queue are discarded; once in each process."""
    if queue.pk not in WARNED:
        WARNED.add(queue.pk)
        logger.warning("Expired messages of %s are dropped: %s.", queue.name, why)


def make_resources(
    entries: Sequence[TakenEntry], to: str, rule: AddressSetting
) -> None:
    """Auto-create the expiry address, and a queue for each original address.

    Source:
        ActiveMQ Artemis manual, "Configuring Automatic Creation of Expiry Resources".
    """
    messages = Message.objects.filter(pk__in={entry.id for entry in entries})
    for origin in messages.order_by("address").values_list("address").distinct():
        ensure(
            to,
            origin=origin[0],
            prefix=rule.expiry_queue_prefix or "",
            suffix=rule.expiry_queue_suffix or "",
        )
