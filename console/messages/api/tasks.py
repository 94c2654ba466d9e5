"""Tasks by name."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from console.edges.rest.problems import REFUSED, require
from console.messages import task_list

router = Router(tags=["tasks"])


class TaskError(Schema):
    """An error of dead letters, and how many have it."""

    fingerprint: str
    pattern: str  # the error, without its numbers and names
    dead: int


class TaskState(Schema):
    """The tasks of one name, on the queues that the caller may inquire."""

    task: str
    queues: list[str]
    ready: int
    delayed: int
    running: int
    oldest_at: datetime | None  # when the first of the ready ones was put
    is_cut: bool  # there may be more of them than are counted
    done: int  # attempts of the last hour, as the next three
    failed: int
    p50_s: float | None  # the duration of those that are done
    p95_s: float | None
    dead: int
    errors: list[TaskError]  # the most frequent


class TaskStates(Schema):
    """Tasks, those with the most dead letters first."""

    tasks: list[TaskState]


@router.get("/tasks", response={200: TaskStates, **REFUSED}, summary="Tasks by name")
def list_tasks(request: HttpRequest) -> dict[str, Any]:
    """Tasks of Django and of Celery by name: how many wait, run, and failed. Up to some
    seconds old; attempts are those of the last hour. Dead letters are
    counted among the newest 10,000, attempts among the last 50,000 transactions.
    """
    require(request, "broker.view_queue")
    return {"tasks": [row.as_document() for row in task_list.rows_for(request.user)]}
