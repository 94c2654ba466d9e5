"""Backout counts that do not outlive a restart.

Of a queue that is not hardened no count does. Where the broker moves poison messages
away itself, as ActiveMQ Artemis does, counts outlive it up to a number of records,
``BROKER_MAX_REDELIVERY_RECORDS``; with a count beyond it goes the time until which its
message would have waited. Everything is on disk here all the same: what Artemis would
not have written is forgotten when the broker starts.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db.models import IntegerField, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from broker import sql
from broker.config.address_settings import merge, policy_of
from broker.models import AddressSetting, Event, Kind, Queue

BATCH = 10_000
UNLIMITED = -1
Policy = AddressSetting.PoisonPolicy


def forget_counts(*, now: datetime | None = None) -> int:
    """Set backout counts back to what outlives a restart.

    For whoever starts the broker, once, before anything consumes. Delivery counts are
    never reset. Harmless twice.

    Returns:
        How many entries lost counts.

    Source:
        IBM MQ, "HardenGetBackout": with NOHARDENBO the count may be lost when the queue
        manager restarts. ActiveMQ Artemis, "Message Redelivery and Undelivered
        Messages": ``max-redelivery-records``.
    """
    kept = kept_counts()
    forgotten = 0
    while kept:
        (some,) = sql.fetch_one(
            "forget_counts",
            queue_ids=list(kept),
            mosts=[most for most, _ in kept.values()],
            are_limits=[is_limit for _, is_limit in kept.values()],
            limit=BATCH,
            now=now,
        )
        forgotten += int(some)
        if some < BATCH:
            break
    return forgotten


def kept_counts() -> dict[int, tuple[int, bool]]:
    """The highest count that outlives a restart, by queue, and if it is one of records.

    A queue that keeps every count is missing. One whose consumers move poison messages
    away, by IBM MQ's rules, keeps all or none: its threshold counts on it.
    """
    limit: int = settings.BROKER_MAX_REDELIVERY_RECORDS
    every = list(AddressSetting.objects.all())
    kept: dict[int, tuple[int, bool]] = {}
    for queue_id, address, threshold, hardened in Queue.objects.values_list(
        "pk", "address__name", "backout_threshold", "harden_backout"
    ):
        if not hardened:
            kept[queue_id] = 0, False
        elif limit != UNLIMITED:
            policy = policy_of(merge(address, every), threshold)
            if policy not in (Policy.IBM, Policy.BOTH):
                kept[queue_id] = limit, True
    return kept


def records(queue_id: int) -> int:
    """How many records of counts and delays the backouts on a queue left.

    As long as the journal is kept: one for each count, one more for each delay, none
    beyond the limit and of messages that are not durable.
    """
    backouts = Event.objects.filter(kind=Kind.BACK_OUT, queue_id=queue_id)
    found = backouts.aggregate(
        records=Sum(Cast(KT("detail__records"), IntegerField()))
    )["records"]
    return int(found or 0)
