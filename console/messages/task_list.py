"""Tasks by name: those that wait, run, and failed, on queues that a user may see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from broker.monitoring import tasks
from broker.monitoring.tasks import TasksDead, TasksHere, TasksRun
from broker.security import authorities
from console.messages.dead_letter_query import names_for
from dashboards.live import tasks as live_tasks

SHOWN = 3  # causes of failures of each task, the most frequent first


@dataclass(slots=True)
class TaskRow:
    """The tasks of one name."""

    task: str
    queues: set[str] = field(default_factory=set)
    ready: int = 0
    delayed: int = 0
    running: int = 0
    oldest_at: datetime | None = None
    # attempts done in the last hour; the fields down to p95_s are of it, too
    done: int = 0
    failed: int = 0
    p50_s: float | None = None  # the median duration of attempts on the busiest queue
    p95_s: float | None = None
    dead: int = 0
    patterns: dict[str, str] = field(default_factory=dict)  # errors by fingerprint
    # numbers of dead letters by fingerprint
    errors: Counter[str] = field(default_factory=Counter)

    is_cut: bool = False  # whether there may be more tasks than are counted
    busiest: int = 0  # the most attempts done on one queue

    def add_here(self, here: TasksHere, queue: str) -> None:
        self.queues.add(queue)
        self.ready += here.ready
        self.delayed += here.delayed
        self.running += here.running
        self.is_cut = self.is_cut or here.is_cut
        self.oldest_at = min(
            filter(None, (self.oldest_at, here.oldest_at)), default=None
        )

    def add_run(self, run: TasksRun, queue: str) -> None:
        self.queues.add(queue)
        self.done += run.done
        self.failed += run.failed
        if run.done > self.busiest:
            self.busiest = run.done
            self.p50_s, self.p95_s = in_s(run.p50_ms), in_s(run.p95_ms)

    def add_dead(self, dead: TasksDead) -> None:
        self.dead += dead.messages
        self.patterns[dead.fingerprint] = dead.pattern
        self.errors[dead.fingerprint] += dead.messages

    @property
    def causes(self) -> list[tuple[str, str, int]]:
        """Fingerprint, error and number of dead letters, the most frequent first."""
        return [
            (key, self.patterns[key], count)
            for key, count in self.errors.most_common(SHOWN)
        ]

    def query(self, *terms: str) -> str:
        """The query of a search for these tasks."""
        terms = (f"h.{tasks.PROPERTY}:{self.task}", *terms)
        return urlencode([("f", term) for term in terms])

    @property
    def all_of_them(self) -> str:
        return self.query()

    @property
    def dead_ones(self) -> str:
        return self.query("state:dead")


def rows_for(user: authorities.Principal) -> list[TaskRow]:
    """The tasks that a user may see; those with the most dead letters first."""
    found = live_tasks.lately()
    return rows_of(names_for(user), found.here, found.run, found.dead)


def rows_of(
    names: Mapping[int, str],
    here: Iterable[TasksHere],
    run: Iterable[TasksRun],
    dead: Iterable[TasksDead],
) -> list[TaskRow]:
    """Add up what is on the queues with these names.

    The duration of a task that runs on several queues is that of the busiest.
    """
    rows: dict[str, TaskRow] = {}

    def row_of(one: TasksHere | TasksRun | TasksDead) -> TaskRow:
        return rows.setdefault(one.task, TaskRow(one.task))

    for here_now in (one for one in here if one.queue_id in names):
        row_of(here_now).add_here(here_now, names[here_now.queue_id])
    for ended in (one for one in run if one.queue_id in names):
        row_of(ended).add_run(ended, names[ended.queue_id])
    for letters in (one for one in dead if one.queue_id in names):
        row_of(letters).add_dead(letters)
    return sorted(rows.values(), key=lambda row: (-row.dead, row.task))


def in_s(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
