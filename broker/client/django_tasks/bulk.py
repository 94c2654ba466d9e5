"""Many calls of one task at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from broker.client.django_tasks.framework import InvalidTask, Task, TaskResult
from broker.client.django_tasks.messages import Call

OTHER = "The backend {!r} of this task is not Backout's: enqueue its calls one by one."


def enqueue_many(
    task: Task, calls: Iterable[Sequence[Any] | Mapping[str, Any]]
) -> list[TaskResult]:
    """Enqueue a task once for each element; all or none, by one put.

    Args:
        task: the task, also as ``task.using(...)`` gives it.
        calls: the arguments of each call: a sequence of positional ones, or a mapping
            of those by name.

    Raises:
        InvalidTask: the backend of the task is not ``BackoutBackend``.
        BrokerError: as of ``task.enqueue``; nothing was enqueued.
    """
    backend = task.get_backend()
    if not hasattr(backend, "bulk_enqueue"):
        raise InvalidTask(OTHER.format(task.backend))
    made = [
        Call(task, [], dict(one))
        if isinstance(one, Mapping)
        else Call(task, [*one], {})
        for one in calls
    ]
    results: list[TaskResult] = backend.bulk_enqueue(made)
    return results
