"""The broker's housekeeping, run by Celery.

A task only calls the broker, in batches, until nothing is left. Each is safe to run
twice, concurrently, or late: the statements skip rows that another worker holds. If a
task is late, its work is only done later. Tasks that must be on time have a queue and a
worker of their own (``CELERY_TASK_ROUTES``), whose threads have no time limits: the
limits of statements hold there.

Celery's beat sends ``send_due`` every ten seconds, and tasks that have a long period.
``send_due`` sends the others, each only in seconds in which it has something to do
(``DUE``).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from celery import Task, shared_task, signals
from django.conf import settings
from django.db import Error as DatabaseError

from broker import operations
from broker.config import auto_create
from broker.operations import idempotency, rules
from broker.queueing import delayed, journal, processes, subscriptions
from broker.security import audit
from broker.settlement import discards, expiry, settle
from broker.sql import partitions, vacuum

logger = logging.getLogger(__name__)

BATCH = 500
BEAT_S = 1.0
ASKS_S = 10.0  # for how long one task asks what is due
LOOKS = 4  # checks for bloated tables in each second
PACED_S = 0.1  # pause between the steps of operations with a rate limit


class Watched:
    """The heartbeat of this process, if it is one of Celery's: a worker, a child of a
    worker, or the beat."""

    heartbeat: processes.Heartbeat | None = None

    def begin(self, kind: str) -> None:
        self.heartbeat = processes.Heartbeat(kind)
        try:
            self.heartbeat.start()
        except DatabaseError as error:
            logger.warning("This %s is not watched: %s", kind, error)
            self.heartbeat = None

    def end(self) -> None:
        if self.heartbeat is not None:
            self.heartbeat.stop()
            self.heartbeat = None


WATCHED = Watched()


@signals.worker_ready.connect
@signals.worker_process_init.connect
def watch_worker(**_: object) -> None:
    WATCHED.begin("worker")


@signals.beat_init.connect
def watch_beat(**_: object) -> None:
    WATCHED.begin("beat")


@signals.worker_shutdown.connect
@signals.worker_process_shutdown.connect
def end_watch(**_: object) -> None:
    WATCHED.end()


DUE: list[tuple[Task, Callable[[], object]]] = []  # tasks; whether each has work now
STOPPING = threading.Event()  # this worker ends


@signals.worker_shutting_down.connect
def stop_asking(**_: object) -> None:
    STOPPING.set()


def sent_when(is_due: Callable[[], object]) -> Callable[[Task], Task]:
    """Have ``send_due`` send a task in each second in which ``is_due`` is true."""

    def register(task: Task) -> Task:
        DUE.append((task, is_due))
        return task

    return register


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def send_due() -> None:
    """Send the tasks that have something to do, every second for ten seconds."""
    ends = time.monotonic() + ASKS_S
    while not STOPPING.is_set() and time.monotonic() < ends:
        for task, is_due in DUE:
            if is_due():
                task.apply_async(expires=2 * BEAT_S)
        STOPPING.wait(BEAT_S)


@signals.worker_ready.connect
def ask_at_once(**_: object) -> None:
    """Do not wait for the beat after a worker has started."""
    send_due.apply_async(expires=ASKS_S)


def is_near(left: timedelta | None) -> bool:
    """Whether a time comes before this is asked again."""
    return left is not None and left.total_seconds() < BEAT_S


@sent_when(lambda: is_near(delayed.until_next_due()))
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def release_due() -> None:
    """Make delayed entries ready when they are due. Runs for one second."""
    through_the_beat(release, delayed.until_next_due)


def release() -> None:
    while delayed.wake_due(limit=BATCH):
        pass


@sent_when(lambda: settle.is_any_overdue() or subscriptions.is_any_dead())
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def back_out_overdue() -> None:
    """Back out units of work of dead processes and past deadlines, and delete
    subscriptions of dead processes."""
    until_short(settle.back_out_overdue)
    while subscriptions.end_dead(limit=BATCH):
        pass


@sent_when(lambda: is_near(expiry.until_next_expiry()))
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
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


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def auto_delete() -> None:
    """Delete idle auto-created queues and addresses. As often as configured."""
    if settings.BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S >= 0:
        auto_create.delete_idle()


@sent_when(journal.is_any_unfolded)
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def fold_journal() -> None:
    """Add new journal events to the tally, so that depths are fast."""
    journal.fold()


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def empty_discard_bin() -> None:
    """Delete entries past their retention from the discard bin. Every minute."""
    until_short(discards.empty_due)


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def forget_answers() -> None:
    """Delete old responses to idempotency keys. Every five minutes."""
    until_short(idempotency.forget_old)


@sent_when(vacuum.bloated)
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def vacuum_bloated() -> None:
    """Vacuum hot tables that are mostly dead rows. Runs for one second.

    A bloated table is vacuumed at each further check of this call: it fills again as
    fast, and empty index pages are reused only after the second vacuum.
    """
    found: set[str] = set()
    for look in range(LOOKS):
        if look:
            time.sleep(BEAT_S / LOOKS)
        found.update(vacuum.bloated())
        vacuum.vacuum(sorted(found))


@shared_task(ignore_result=True, soft_time_limit=280, time_limit=300)
def tend_partitions() -> None:
    """Create partitions ahead of time, drop partitions past retention. Every minute."""
    partitions.make_ahead()
    partitions.drop_old()
    until_short(rules.forget_gone)


def until_short(batch: Callable[..., int]) -> None:
    """Repeat a batch, each time in a transaction of its own, until a batch is not
    full."""
    while batch(limit=BATCH) == BATCH:
        pass


@sent_when(lambda: operations.running() or operations.unsettled())
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def step_operations() -> None:
    """Make steps of all running operations in turn, and look up outcomes of their
    copies. Runs for one second if an operation has a rate limit."""
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
    """Verify the hash chain of the audit, and store the result. Every hour."""
    audit.check()


@sent_when(operations.waiting)
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def look_at_patches() -> None:
    """Test the patches of plans on their messages."""
    for operation_id in operations.waiting():
        while operations.look(operation_id):
            pass


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def apply_dead_letter_rules() -> None:
    """Apply the rules of queues to their dead letters. Every ten seconds."""
    for table_id in rules.due():
        while rules.run(table_id, limit=BATCH) == BATCH:
            pass
