"""The same handler as a task of Django."""

from __future__ import annotations

import time

from django_tasks import task

from tests.handlers_bench.work import note

BRIEF_S = 0.002


@task(queue_name="tasks")
def early(sent: str) -> None:
    note(sent)


@task(queue_name="tasks")
def brief(number: int) -> int:
    """Work for a moment, then note the number."""
    time.sleep(BRIEF_S)
    note(str(number))
    return number
