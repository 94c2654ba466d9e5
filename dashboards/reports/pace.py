"""How much of its machine a reports worker takes, and how much it leaves to others."""

from __future__ import annotations

import os


def give_way() -> None:
    """Keep to half of the processors, the last ones, with the lowest priority; and so
    does all that is started from here.

    Priority is not enough: where every processor is busy, who puts and gets waits for
    the clock to tick. Where a system cannot keep a process to some processors, it has
    to do.
    """
    os.nice(19)
    if hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, mine[len(mine) // 2 :])
