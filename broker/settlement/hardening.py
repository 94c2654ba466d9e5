"""Reset backout counts at the start of the broker, as IBM MQ and ActiveMQ Artemis do.

This broker stores all counts on disk. At its start it resets the counts that the other
brokers would not have stored:

- all counts on a queue that is not hardened (IBM MQ);
- on a queue whose poison messages are moved by the broker (Artemis), the counts of an
  entry beyond ``BROKER_MAX_REDELIVERY_RECORDS`` records; the entry also loses its
  redelivery delay.
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

    The first process of the broker does this when it starts, before any consumer
    (``processes.AT_START``). Delivery counts are never reset. Safe to run twice.

    Returns:
        The number of entries whose counts were reset.

    Source:
        IBM MQ, "HardenGetBackout": with NOHARDENBO the count may be lost when the queue
        manager restarts. ActiveMQ Artemis, "Message Redelivery and Undelivered
        Messages": ``max-redelivery-records``.
    """
    kept = counts_after_restart()
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


def counts_after_restart() -> dict[int, tuple[int, bool]]:
    """For each queue, the highest count that survives a restart, and whether this is a
    number of redelivery records.

    A queue that keeps all counts is not in the result. A queue with a backout threshold
    keeps all counts or none.
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
    """The number of redelivery records that Artemis would have stored for a queue.

    Each counted backout of a persistent message is one record, and each delay is one
    more, up to the limit. The retention of the journal depends on this number.
    """
    backouts = Event.objects.filter(kind=Kind.BACK_OUT, queue_id=queue_id)
    found = backouts.aggregate(
        records=Sum(Cast(KT("detail__records"), IntegerField()))
    )["records"]
    return int(found or 0)
