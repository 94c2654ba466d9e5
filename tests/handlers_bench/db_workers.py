"""Several workers of ``django-tasks-db``, which come again when they end.

python -m tests.handlers_bench.db_workers COUNT
"""

from __future__ import annotations

import signal
import sys
from functools import partial

from broker.management.processes import Processes, spawned

WORKER = (
    *("db_worker", "--backend=db", "--queue-name=tasks", "--interval=0.01"),
    *("--no-startup-delay", "--no-reload", "-v0"),
)


def main(count: int) -> None:
    several = Processes([partial(spawned, WORKER)] * count, stop_within_s=10)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: several.stopping.set())
    several.run(id)


if __name__ == "__main__":
    main(int(sys.argv[1]))
