"""How much of its machine a reports worker takes, and how much it leaves to others."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

LOWEST = 19


def give_way() -> None:
    """Keep to half of the processors, the last ones, with the lowest priority; and so
    does all that is started from here.

    Where a system cannot keep a process to some processors, its priority has to do.
    """
    os.nice(LOWEST)
    if hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, mine[len(mine) // 2 :])


def behind_all(start: Callable[[], object]) -> None:
    """Call it; in a process that gives way, what it starts gets a processor only while
    nobody else wants it.

    Priority is not enough: who puts or gets would wait until the clock ticks. This
    process itself stays before Java, for while it copies the journal PostgreSQL keeps
    what others have deleted, and there is no way back.
    """
    if os.nice(0) < LOWEST or not hasattr(os, "SCHED_IDLE"):
        start()
        return
    with ThreadPoolExecutor(1, initializer=come_last) as aside:
        aside.submit(start).result()


def come_last() -> None:
    """For this thread, and for what is started from it."""
    with suppress(OSError):  # a sandbox may not allow it
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
