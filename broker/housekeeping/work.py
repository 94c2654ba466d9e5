"""The broker's housekeeping.

A function works in batches until nothing is left. Each is safe to run twice,
concurrently, or late: the statements skip rows that another process holds. If one is
late, its work is only done later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.conf import settings

from broker import operations
from broker.alerts import evaluation
from broker.config import auto_create
from broker.housekeeping import compaction
from broker.housekeeping.pacing import Pacer
from broker.housekeeping.starting import start_due
from broker.monitoring.history import sampling
from broker.operations import idempotency, queue_pause, recurring, rules
from broker.queueing import delayed, journal, subscriptions
from broker.security import audit
from broker.settlement import discards, expiry, retention, settle
from broker.sql import partitions, vacuum

BATCH = 500
BEAT_S = 1.0
LOOKS = 4  # checks for bloated tables in each second
PACED_S = 0.1  # pause between the steps of operations with a rate limit


def release_due() -> None:
    """Make delayed entries ready when they are due. Runs for one second."""
    through_the_beat(release, delayed.until_next_due)


def release() -> None:
    while delayed.wake_due(limit=BATCH):
        pass


def resume_paused() -> None:
    """Resume queues when their pauses end. Runs for one second."""
    through_the_beat(
        partial(until_short, queue_pause.resume_due), queue_pause.until_next_end
    )


def put_recurring() -> None:
    """Put recurring messages when they are due. Runs for one second."""
    through_the_beat(partial(until_short, recurring.put_due), recurring.until_next)


def back_out_overdue() -> None:
    """Back out units of work of dead processes and past deadlines, and delete
    subscriptions of dead processes."""
    until_short(settle.back_out_overdue)
    while subscriptions.end_dead(limit=BATCH):
        pass


def expire() -> None:
    """Expire entries whose time to live is over. Runs for one second, or as often as
    configured."""
    began_s = time.monotonic()
    if not expiry.SCANS.are_due(began_s):
        return
    scan = partial(until_short, expiry.expire)
    if settings.BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S > BEAT_S:
        scan()
    else:
        through_the_beat(scan, expiry.until_next_expiry)
    expiry.SCANS.last_s = began_s


def through_the_beat(
    work: Callable[[], None], until_next: Callable[[], timedelta | None]
) -> None:
    """Work now, and again whenever there is more to do, until the next beat."""
    ends = time.monotonic() + BEAT_S
    while True:
        work()
        left = until_next()
        rest_s = ends - time.monotonic()
        if left is None or delayed.seconds_to_wait(left) >= rest_s:
            return
        time.sleep(delayed.seconds_to_wait(left))


def auto_delete() -> None:
    """Delete idle auto-created queues and addresses."""
    if settings.BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S >= 0:
        auto_create.delete_idle()


def fold_journal() -> None:
    """Add new journal events to the tally, so that depths are fast."""
    journal.fold()


def empty_discard_bin() -> None:
    """Delete what is past its retention: entries from the discard bin, and ended
    messages of addresses with a retention of their own."""
    until_short(discards.empty_due)
    retention.delete_ended()


def forget_answers() -> None:
    """Delete old responses to idempotency keys."""
    until_short(idempotency.forget_old)


def vacuum_bloated() -> None:
    """Vacuum hot tables that are mostly dead rows, and rewrite those that vacuum cannot
    make small. Runs for one second.

    A bloated table is vacuumed at each further check of this call: it fills again as
    fast, and empty index pages are reused only after the second vacuum.
    """
    found: set[str] = set()
    for look in range(LOOKS):
        if look:
            time.sleep(BEAT_S / LOOKS)
        found.update(vacuum.bloated())
        vacuum.vacuum(sorted(found))
    compaction.compact()


def is_any_bloated() -> bool:
    return bool(vacuum.bloated() or vacuum.compactable())


def tend_partitions() -> None:
    """Create partitions ahead of time, drop partitions past retention."""
    partitions.make_ahead()
    found = retention.Retentions()
    partitions.drop_old(kept_since=found.retained_since if found.has_longer else None)
    until_short(rules.forget_gone)
    kept = settings.BROKER_JOURNAL_RETENTION_DAYS
    until_short(partial(evaluation.forget_old, days=kept))


def until_short(batch: Callable[..., int]) -> None:
    """Repeat a batch, each time in a transaction of its own, until a batch is not
    full."""
    while batch(limit=BATCH) == BATCH:
        pass


def step_operations() -> None:
    """Make steps of all running operations in turn, look up outcomes of their copies,
    and start plans whose time has come. Runs for one second if an operation has a rate
    limit, or if the steps rest because others are at work."""
    ends = time.monotonic() + BEAT_S
    if left := operations.running():
        step_in_turn(left, ends)
    while (paced := operations.paced()) and time.monotonic() + PACED_S < ends:
        time.sleep(PACED_S)
        for operation_id in paced:
            operations.step(operation_id)
    for operation_id in operations.unsettled():
        until_short(partial(operations.settle, operation_id))
    until_short(start_due)  # last, so that an error there stops no running operation


def step_in_turn(running: list[int], ends: float) -> None:
    """Make steps of operations until none has a step to make now. If others are at
    work, only until ``ends``, so that other housekeeping does not wait for the
    rests."""
    pacer = Pacer()
    while running and not (pacer.lively and time.monotonic() > ends):
        running = [one for one in running if pacer.step(one)]


def verify_audit() -> None:
    """Verify the hash chain of the audit, and store the result."""
    audit.check()


def look_at_patches() -> None:
    """Test the patches of plans on their messages."""
    for operation_id in operations.waiting():
        while operations.look(operation_id):
            pass


def sample_history() -> None:
    """Store what queues and links did since the last sample, for charts."""
    sampling.sample()


def apply_dead_letter_rules() -> None:
    """Apply the rules of queues to their dead letters."""
    for table_id in rules.due():
        while rules.run(table_id, limit=BATCH) == BATCH:
            pass


def evaluate_alerts() -> None:
    """Evaluate the rules of alerts, and put the notifications owed."""
    evaluation.evaluate()


def is_near(left: timedelta | None) -> bool:
    """Whether something is due within one beat, before this function is called
    again."""
    return left is not None and left.total_seconds() < BEAT_S


@dataclass(frozen=True, slots=True)
class Duty:
    """One function, and when it is called."""

    run: Callable[[], None]
    is_due: Callable[[], object]  # whether it has something to do now
    every_s: float = BEAT_S


def always() -> bool:
    return True


DUTIES = (
    Duty(release_due, lambda: is_near(delayed.until_next_due())),
    Duty(resume_paused, lambda: is_near(queue_pause.until_next_end())),
    Duty(put_recurring, lambda: is_near(recurring.until_next())),
    Duty(
        back_out_overdue, lambda: settle.is_any_overdue() or subscriptions.is_any_dead()
    ),
    Duty(expire, lambda: is_near(expiry.until_next_expiry())),
    Duty(fold_journal, journal.is_any_unfolded),
    Duty(step_operations, lambda: operations.left().to_step),
    Duty(look_at_patches, lambda: operations.left().to_test),
    Duty(vacuum_bloated, is_any_bloated),
    Duty(apply_dead_letter_rules, always, 10),
    Duty(evaluate_alerts, always, evaluation.EVERY_S),
    Duty(sample_history, always, sampling.PERIOD_S),
    Duty(auto_delete, always, settings.BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S),
    Duty(empty_discard_bin, always, 60),
    Duty(tend_partitions, always, 60),
    Duty(forget_answers, always, 300),
    Duty(verify_audit, always, 3600),
)
PERIODS_S = {one.run: one.every_s for one in DUTIES}
DUE = {one.run: one.is_due for one in DUTIES if one.is_due is not always}
