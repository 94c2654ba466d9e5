"""Tasks by name on all queues, at most some seconds old."""

from __future__ import annotations

from dataclasses import dataclass

from broker.models import Queue
from broker.monitoring import tasks
from dashboards.live import cache

KEY = "dashboards.tasks"
KEPT_S = 2


@dataclass(frozen=True, slots=True)
class TasksSnapshot:
    """What there is of tasks, on each queue."""

    here: list[tasks.TasksHere]
    run: list[tasks.TasksRun]
    dead: list[tasks.TasksDead]


def lately() -> TasksSnapshot:
    """All tasks; each user sees those on queues that they may inquire."""
    return cache.recent(KEY, look, KEPT_S)


def look() -> TasksSnapshot:
    """All tasks now. Four queries."""
    ids = list(Queue.objects.values_list("pk", flat=True))
    return TasksSnapshot(tasks.here(ids), tasks.run(ids), tasks.dead(ids))
