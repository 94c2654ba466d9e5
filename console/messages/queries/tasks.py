"""Tasks by name, for REST and commands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from broker.security.authorities import Principal
from console.edges.queries import All, build_answer, declared_query
from console.messages import task_list


@dataclass(frozen=True, slots=True)
class TaskError:
    """An error of dead letters, and how many have it."""

    fingerprint: str
    pattern: str  # the error, without its numbers and names
    dead: int

    def __str__(self) -> str:
        return f"{self.dead:,} × {self.pattern or 'no error text'}"


@dataclass(frozen=True, slots=True)
class TaskState:
    """The tasks of one name, on the queues that the caller may inquire."""

    task: str
    queues: list[str]
    ready: int
    delayed: int
    running: int
    oldest_at: datetime | None  # when the oldest ready message was put
    is_cut: bool  # there may be more tasks than are counted
    # attempts done in the last hour; the next three fields are of that hour, too
    done: int
    failed: int
    p50_s: float | None  # the median duration of the attempts that are done
    p95_s: float | None
    dead: int
    errors: list[TaskError]  # the most frequent errors of dead letters


@dataclass(frozen=True, slots=True)
class TaskStates:
    """Tasks, those with the most dead letters first."""

    empty: ClassVar = "There are no tasks."

    tasks: list[TaskState]


@declared_query("broker.view_queue")
def list_tasks(actor: Principal, request: All) -> TaskStates:
    """Tasks by name.

    Tasks of Django and of Celery: how many wait, run, and failed. Up to some seconds
    old; attempts are those of the last hour. Dead letters are counted among the newest
    10,000, attempts among the last 50,000 transactions.
    """
    return TaskStates(
        [
            build_answer(
                TaskState,
                row,
                queues=sorted(row.queues),
                errors=[TaskError(*one) for one in row.causes],
            )
            for row in task_list.rows_for(actor)
        ]
    )
