"""The broker's housekeeping (``housekeeping.work``), run by Celery.

Tasks that must be on time have a queue and a worker of their own
(``CELERY_TASK_ROUTES``), whose threads have no time limits: the limits of statements
hold there.

Celery's beat sends ``send_due`` every ten seconds, and tasks that have a long period.
``send_due`` sends the others, each only in seconds in which it has something to do
(``DUE``), or once in its period.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable

from celery import Task, shared_task, signals
from django.db import Error as DatabaseError

from broker.housekeeping import work
from broker.housekeeping.work import BEAT_S
from broker.queueing import processes

logger = logging.getLogger(__name__)

ASKS_S = 10.0  # for this long, one ``send_due`` checks every second what is due


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


# The tasks that ``send_due`` sends, each with a function: whether it has work now.
DUE: list[tuple[Task, Callable[[], object]]] = []
STOPPING = threading.Event()  # set when this worker ends


@signals.worker_shutting_down.connect
def stop_asking(**_: object) -> None:
    STOPPING.set()


class Every:
    """Says once in each period that it has passed; with a negative period, never."""

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self.next_s = -math.inf

    def __call__(self) -> bool:
        now_s = time.monotonic()
        if now_s < self.next_s or self.period_s < 0:
            return False
        self.next_s = now_s + self.period_s
        return True


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


@sent_when(work.DUE[work.release_due])
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def release_due() -> None:
    work.release_due()


@sent_when(work.DUE[work.resume_paused])
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def resume_paused() -> None:
    work.resume_paused()


@sent_when(work.DUE[work.put_recurring])
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def put_recurring() -> None:
    work.put_recurring()


@sent_when(work.DUE[work.back_out_overdue])
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def back_out_overdue() -> None:
    work.back_out_overdue()


@sent_when(work.DUE[work.expire])
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def expire() -> None:
    work.expire()


@sent_when(Every(work.PERIODS_S[work.auto_delete]))
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def auto_delete() -> None:
    work.auto_delete()


@sent_when(work.DUE[work.fold_journal])
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def fold_journal() -> None:
    work.fold_journal()


@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def empty_discard_bin() -> None:
    """Delete discarded messages whose time to be restored is over."""
    work.empty_discard_bin()


@sent_when(Every(work.PERIODS_S[work.forget_answers]))
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def forget_answers() -> None:
    work.forget_answers()


@sent_when(work.DUE[work.vacuum_bloated])
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def vacuum_bloated() -> None:
    work.vacuum_bloated()


@shared_task(ignore_result=True, soft_time_limit=280, time_limit=300)
def tend_partitions() -> None:
    """Create the next partitions of messages and journal, and drop old ones."""
    work.tend_partitions()


@sent_when(work.DUE[work.step_operations])
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def step_operations() -> None:
    work.step_operations()


@shared_task(ignore_result=True, soft_time_limit=280, time_limit=300)
def verify_audit() -> None:
    """Verify the hash chain of the audit."""
    work.verify_audit()


@sent_when(work.DUE[work.look_at_patches])
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def look_at_patches() -> None:
    work.look_at_patches()


@sent_when(Every(work.PERIODS_S[work.apply_dead_letter_rules]))
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def apply_dead_letter_rules() -> None:
    work.apply_dead_letter_rules()


@sent_when(Every(work.PERIODS_S[work.evaluate_alerts]))
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def evaluate_alerts() -> None:
    work.evaluate_alerts()


@sent_when(Every(work.PERIODS_S[work.sample_history]))
@shared_task(ignore_result=True, soft_time_limit=50, time_limit=60)
def sample_history() -> None:
    work.sample_history()
