"""Backout counts that do not survive a restart, as IBM MQ and ActiveMQ Artemis have it.

On a queue that is not hardened no count survives. Where the broker moves poison
messages, as Artemis does, at most ``BROKER_MAX_REDELIVERY_RECORDS`` records survive; an
entry beyond them also loses its redelivery delay. Everything is on disk here: what
Artemis would not have written is reset when the broker starts.
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
    """Reset the backout counts that do not survive a restart.

    Call it once at the start of the broker, before any consumer. Delivery counts are
    never reset. Safe to run twice.

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
    """The highest count that survives a restart, by queue, and whether it is a number
    of records.

    A queue that keeps every count is missing. A queue with a backout threshold keeps
    all counts or none.
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
    """How many records of counts and delays the backouts on a queue have left.

    The retention of the journal depends on it: one record for each count, and one more
    for each delay; none beyond the limit, and none of non-persistent messages.
    """
    backouts = Event.objects.filter(kind=Kind.BACK_OUT, queue_id=queue_id)
    found = backouts.aggregate(
        records=Sum(Cast(KT("detail__records"), IntegerField()))
    )["records"]
    return int(found or 0)
