"""The broker's housekeeping, run by Celery beat.

A task here only calls the broker, in batches, until nothing is left. Each is safe to
run twice, at once, or late: the statements skip rows that another worker holds. Nothing
depends on any of them but the time at which it happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from celery import shared_task
from django.conf import settings

from broker import operations
from broker.config import auto_create
from broker.operations import idempotency, rules
from broker.queueing import delayed, journal, subscriptions
from broker.security import audit
from broker.settlement import discards, expiry, settle
from broker.sql import partitions, vacuum

BATCH = 500
BEAT_S = 1.0
LOOKS = 4  # a second, at what is bloated
PACED_S = 0.1  # between the steps of operations that have a pace


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def release_due() -> None:
    """Make delayed entries ready as they fall due. Every second, for that second."""
    ends = time.monotonic() + BEAT_S
    while True:
        while delayed.wake_due(limit=BATCH):
            pass
        left = delayed.until_next_due()
        rest_s = ends - time.monotonic()
        if left is None or delayed.seconds_to_wait(left) >= rest_s:
            return
        time.sleep(delayed.seconds_to_wait(left))


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def back_out_overdue() -> None:
    """Back out units of work of dead processes and past deadlines, and end what dead
    processes had subscribed to. Every second."""
    until_short(settle.back_out_overdue)
    while subscriptions.end_dead(limit=BATCH):
        pass


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def expire() -> None:
    """End entries whose time to live is over. Every second, or as often as is set."""
    began_s = time.monotonic()
    if expiry.SCANS.are_due(began_s):
        until_short(expiry.expire)
        expiry.SCANS.last_s = began_s


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def auto_delete() -> None:
    """Delete what made itself and nobody needs. As often as is set."""
    if settings.BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S >= 0:
        auto_create.delete_idle()


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def fold_journal() -> None:
    """Add the journal to the tally, so that depths stay quick. Every second."""
    journal.fold()


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def empty_discard_bin() -> None:
    """Empty the discard bin of what was kept long enough. Every minute."""
    until_short(discards.empty_due)


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def forget_answers() -> None:
    """Forget what was answered to requests long ago. Every five minutes."""
    until_short(idempotency.forget_old)


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def vacuum_bloated() -> None:
    """Vacuum hot tables that are mostly dead rows. Every second, for a second.

    What is bloated is vacuumed at every look from then on: it fills as fast again, and
    emptied pages of an index are used again only after the second vacuum.
    """
    found: set[str] = set()
    for look in range(LOOKS):
        if look:
            time.sleep(BEAT_S / LOOKS)
        found.update(vacuum.bloated())
        vacuum.vacuum(sorted(found))


@shared_task(ignore_result=True, soft_time_limit=280, time_limit=300)
def tend_partitions() -> None:
    """Make partitions ahead, drop those past retention. Every minute."""
    partitions.make_ahead()
    partitions.drop_old()
    until_short(rules.forget_gone)


def until_short(batch: Callable[..., int]) -> None:
    """Run a batch again until it comes back short, each in its own transaction."""
    while batch(limit=BATCH) == BATCH:
        pass


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def step_operations() -> None:
    """Go on with every running operation, each in its turn, and look what became of
    what was sent. Every second, for that second where one has a pace."""
    ends = time.monotonic() + BEAT_S
    left = operations.running()
    while left:
        left = [one for one in left if operations.step(one)]
    while (paced := operations.paced()) and time.monotonic() + PACED_S < ends:
        time.sleep(PACED_S)
        for operation_id in paced:
            operations.step(operation_id)
    for operation_id in operations.unsettled():
        until_short(partial(operations.settle, operation_id))


@shared_task(ignore_result=True, soft_time_limit=280, time_limit=300)
def verify_audit() -> None:
    """Verify the chain of the audit, and note what was found. Every hour."""
    audit.check()


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def look_at_patches() -> None:
    """See what the patches of plans would do to their messages. Every second."""
    for operation_id in operations.waiting():
        while operations.look(operation_id):
            pass


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def apply_dead_letter_rules() -> None:
    """Do with dead letters what the rules of their queues say. Every ten seconds."""
    for table_id in rules.due():
        while rules.run(table_id, limit=BATCH) == BATCH:
            pass
