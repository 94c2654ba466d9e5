"""Expiry: end entries whose time to live is over. A get never delivers them.

The scan (``expire``) runs once in ``BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S``. If that is
long, or off, a get that finds nothing ends expired entries at the head of its queue
(``expire_on``).
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple, cast

from django.conf import settings
from django.db import transaction

from broker import sql
from broker.config.address_settings import Policy, by_specificity, merge, policy_of
from broker.config.auto_create import ensure
from broker.errors.mq_codes import Feedback
from broker.models import AddressSetting, DeadLetter, Kind, Message, Place, Queue
from broker.queueing.report_messages import send_all
from broker.queueing.transfer import Record, TakenEntry, copy, end
from broker.sql.fencing import short_transaction

logger = logging.getLogger(__name__)

WARNED: set[int] = set()
REASON = "The message's time to live was over before it was delivered."
# Seconds between two checks whether a scan is due. If the period of scans is not
# longer, each check scans.
BEAT_S = 1.0
HEAD = 1000  # entries of each priority that a get checks
AT_ONCE = 100  # most expired entries that one get ends


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
    with short_transaction():
        ready = sql.fetch("take_expired_ready", TakenEntry, limit=limit, now=now)
        end_expired(ready, Place.READY, now=now)
    with short_transaction():
        delayed = sql.fetch("take_expired_delayed", TakenEntry, limit=limit, now=now)
        end_expired(delayed, Place.DELAYED, now=now)
    return max(len(ready), len(delayed))


def until_next_expiry() -> timedelta | None:
    """The time until the next entry of any queue expires; as ``until_next_due``."""
    (left,) = sql.fetch_one("next_expiry")
    return cast("timedelta | None", left)


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


@dataclass(frozen=True, slots=True)
class Ending:
    """What becomes of expired entries, by the rules of their queues."""

    to: str = ""  # the expiry address; empty: the entries are discarded
    # Prefix and suffix of the queues that are created on the expiry address; None: no
    # queue is created.
    made: tuple[str, str] | None = None


DISCARDED = Ending()


class Origin(NamedTuple):
    """A queue on which entries expired."""

    pk: int
    name: str
    backout_threshold: int
    address: str


ORIGIN = ("pk", "name", "backout_threshold", "address__name")


def end_expired(
    entries: Sequence[TakenEntry],
    came_from: Place | None,
    *,
    uow: int | None = None,
    now: datetime | None = None,
) -> None:
    """Copy expired entries to their expiry addresses, or discard those without one.
    Send the reports that their senders asked for.

    The number of statements depends on the number of expiry addresses, not on that of
    the queues.

    Source:
        ActiveMQ Artemis manual, "Message Expiry": the message is dropped if there is no
        expiry address, or if no queue of the address takes it.
    """
    if not entries:
        return
    queues = origins_of({entry.queue_id for entry in entries})
    endings = endings_of(queues)
    by_ending: dict[Ending, list[TakenEntry]] = defaultdict(list)
    for entry in entries:  # an entry whose queue is deleted is discarded
        by_ending[endings.get(entry.queue_id, DISCARDED)].append(entry)
    record = Record(Kind.EXPIRE, came_from, uow, "", {"error": REASON}, now)
    for ending, expired in by_ending.items():
        end_as(ending, queues, expired, record)
    report_expiry(entries, now=now)


def origins_of(queue_ids: Collection[int]) -> dict[int, Origin]:
    """Some queues, by id. One query, without models: there may be hundreds."""
    rows = Queue.objects.filter(pk__in=queue_ids).values_list(*ORIGIN)
    return {row[0]: Origin(*row) for row in rows}


def endings_of(queues: Mapping[int, Origin]) -> dict[int, Ending]:
    """What becomes of expired entries of some queues, by queue id. One query."""
    every = list(AddressSetting.objects.all())
    # Merged settings, by the ids of the settings that were merged.
    rules: dict[tuple[int, ...], AddressSetting] = {}
    endings = {}
    for queue_id, queue in queues.items():
        matching = by_specificity(queue.address, every)
        key = tuple(one.pk for one in matching)
        if key not in rules:
            rules[key] = merge(queue.address, matching)
        rule = rules[key]
        to = expiry_address_of(queue, rule)
        made = rule.expiry_queue_prefix or "", rule.expiry_queue_suffix or ""
        has_made = to and rule.auto_create_expiry_resources
        endings[queue_id] = Ending(to, made if has_made else None)
    return endings


def tell_of_expiry(entries: Sequence[TakenEntry], *, now: datetime | None) -> None:
    """Send the reports that expired messages of one queue request."""
    send_all(
        Feedback.EXPIRATION,
        [(entry.id, entry.queue_id) for entry in entries],
        priorities={entry.id: entry.priority for entry in entries},
        now=now,
    )


def end_as(
    ending: Ending,
    queues: Mapping[int, Origin],
    entries: Sequence[TakenEntry],
    record: Record,
) -> None:
    """End expired entries that share an ending; see ``end_expired``. No report is
    sent."""
    if not ending.to:
        end(entries, record)
        return
    if ending.made is not None:
        prefix, suffix = ending.made
        make_resources(entries, ending.to, prefix=prefix, suffix=suffix)
    names = {one.pk: one.name for one in queues.values()}
    drop = partial(drop_all, names, record)
    copy(entries, ending.to, record, cause=DeadLetter.Cause.EXPIRED, untaken=drop)


def report_expiry(entries: Sequence[TakenEntry], *, now: datetime | None) -> None:
    """Send the reports of expired entries; few messages ask for one."""
    asking = set(sql.fetch("asking", int, ids=[entry.id for entry in entries]))
    by_queue: dict[int, list[TakenEntry]] = defaultdict(list)
    for entry in entries:
        if entry.id in asking:
            by_queue[entry.queue_id].append(entry)
    for expired in by_queue.values():
        tell_of_expiry(expired, now=now)


def expiry_address_of(queue: Origin, rule: AddressSetting) -> str:
    """The expiry address of a queue; empty if expired messages are discarded. A warning
    is logged unless the poison policy says that they are discarded.

    Source:
        IBM MQ, "Expiry": an expired message is discarded, never dead-lettered. Queues
        with IBM MQ's poison policy do the same.
    """
    to = expiry_target(queue.address, queue.backout_threshold, rule)
    if not to and policy_of(rule, queue.backout_threshold) is not Policy.IBM:
        unset = not rule.expiry_address
        why = "no expiry address is set" if unset else "it is the expiry address"
        warn_once(queue.pk, queue.name, why)
    return to


def expiry_target(address: str, backout_threshold: int, rule: AddressSetting) -> str:
    """Like ``expiry_address_of``, but without a warning; for a queue of an address."""
    if policy_of(rule, backout_threshold) is Policy.IBM:
        return ""
    to = rule.expiry_address or ""
    return "" if to == address else to


def drop_all(
    names: Mapping[int, str],
    record: Record,
    entries: Sequence[TakenEntry],
    why: str,
) -> None:
    """Discard entries that no queue of the expiry address takes."""
    for queue_id in dict.fromkeys(entry.queue_id for entry in entries):
        warn_once(queue_id, names[queue_id], why)
    end(entries, record)


def warn_once(queue_id: int, name: str, why: str) -> None:
    """Warn that expired messages of a queue are discarded; once in each process."""
    if queue_id not in WARNED:
        WARNED.add(queue_id)
        logger.warning("Expired messages of %s are dropped: %s.", name, why)


def make_resources(
    entries: Sequence[TakenEntry], to: str, *, prefix: str, suffix: str
) -> None:
    """Auto-create the expiry address, and a queue for each original address.

    Source:
        ActiveMQ Artemis manual, "Configuring Automatic Creation of Expiry Resources".
    """
    messages = Message.objects.filter(pk__in={entry.id for entry in entries})
    for origin in messages.order_by("address").values_list("address").distinct():
        ensure(to, origin=origin[0], prefix=prefix, suffix=suffix)
