"""Messages that are tasks, by the name of the task: which wait, run, and failed.

A message is a task if it has the property ``task``, the path of a function: tasks of
Django's Tasks framework and of Celery have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from broker import sql
from broker.models import Kind

PROPERTY = "task"
# A queue carries tasks if one of its first entries, up to this number, is a task.
PROBE = 3
MOST = 10_000  # most entries of a queue, and most dead letters, that are counted
SPAN = timedelta(hours=1)
TRANSACTIONS = 50_000  # how many of the newest transactions are read
FAILURES = [Kind.BACK_OUT.value, Kind.DEAD_LETTER.value, Kind.DISCARD.value]


@dataclass(frozen=True, slots=True)
class TasksHere:
    """Tasks of one name that are on a queue."""

    task: str
    queue_id: int
    ready: int
    delayed: int
    running: int
    oldest_at: datetime | None  # put time of the oldest task that is ready
    is_cut: bool  # whether the queue has more entries than were read


@dataclass(frozen=True, slots=True)
class TasksRun:
    """Attempts at tasks of one name that ended lately."""

    task: str
    queue_id: int
    done: int
    failed: int
    p50_ms: float | None  # median duration of the tasks that are done
    p95_ms: float | None


@dataclass(frozen=True, slots=True)
class TasksDead:
    """Dead letters of tasks of one name with the same error."""

    task: str
    queue_id: int
    fingerprint: str
    pattern: str
    messages: int


def here(queue_ids: Sequence[int]) -> list[TasksHere]:
    """The tasks on these queues; of each queue the first ``MOST`` are counted."""
    return sql.fetch(
        "tasks_here", TasksHere, queue_ids=queue_ids, probe=PROBE, limit=MOST
    )


def run(queue_ids: Sequence[int], *, now: datetime | None = None) -> list[TasksRun]:
    """The attempts of the last hour, among the last ``TRANSACTIONS``."""
    return sql.fetch(
        "tasks_run",
        TasksRun,
        queue_ids=queue_ids,
        transactions=TRANSACTIONS,
        span=SPAN,
        failures=FAILURES,
        now=now,
    )


def dead(queue_ids: Sequence[int]) -> list[TasksDead]:
    """The dead letters on these queues, among their newest ``MOST``."""
    return sql.fetch("tasks_dead", TasksDead, queue_ids=queue_ids, limit=MOST)
