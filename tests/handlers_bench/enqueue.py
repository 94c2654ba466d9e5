"""Enqueue Django's tasks, as a project does: by their names and arguments.

    python -m tests.handlers_bench.enqueue BACKEND TASK

Each line of the input is a JSON list of first arguments. Each line of the output is the
seconds that these took.
"""

from __future__ import annotations

import json
import sys
import time

import django

django.setup()

from tests.handlers_bench import tasks  # noqa: E402

QUEUES = {"joined": "joined_tasks"}


def main(backend: str, name: str) -> None:
    queue = QUEUES.get(backend, "tasks")
    task = getattr(tasks, name).using(backend=backend, queue_name=queue)
    for line in sys.stdin:
        given = json.loads(line)
        began = time.perf_counter()
        for one in given:
            task.enqueue(one)
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
