"""Enqueue tasks, as a project does: by their names and arguments.

    python -m tests.handlers_bench.enqueue BACKEND TASK

``celery`` and ``procrastinate`` are backends, too; the others are of Django's tasks.

Each line of the input is a JSON list of first arguments. Each line of the output is the
seconds that these took.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import django

django.setup()

from tests.handlers_bench import procrastinate_peer, tasks  # noqa: E402

QUEUES = {"joined": "joined_tasks"}


def main(backend: str, name: str) -> None:
    enqueue = enqueuing(backend, name)
    for line in sys.stdin:
        given = json.loads(line)
        began = time.perf_counter()
        for one in given:
            enqueue(one)
        print(time.perf_counter() - began, flush=True)


def enqueuing(backend: str, name: str) -> Callable[[str], object]:
    if backend == "celery":
        from tests.handlers_bench import celery_peer  # noqa: PLC0415 - needs its broker

        send: Callable[[str], object] = getattr(celery_peer, name).delay
        return send
    if backend == "procrastinate":
        procrastinate_peer.app.open()
        task = procrastinate_peer.app.tasks[name]
        return lambda one: task.defer(sent=one)
    queue = QUEUES.get(backend, "tasks")
    known = getattr(tasks, name).using(backend=backend, queue_name=queue)
    return lambda one: known.enqueue(one)


if __name__ == "__main__":
    main(*sys.argv[1:])
