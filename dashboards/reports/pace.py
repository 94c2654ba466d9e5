"""How much of its machine a reports worker takes, and how much it leaves to others."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from contextlib import suppress
from pathlib import Path

LOWEST = 19
TURN_NS = 100_000_000  # the longest that Linux knows
AUTOGROUP = Path("/proc/self/autogroup")
# int sched_setattr(pid_t, struct sched_attr *, unsigned), which C libraries lack
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
SCHED_ATTR = struct.Struct("=IIQiIQQQ")
SCHED_OTHER = 0


def give_way() -> None:
    """Keep to half of the processors, the last ones, behind everybody else; and so does
    all that is started from here.

    A low priority alone is void on Linux: sessions share the processors as equals,
    whatever their processes' priorities, and each of PostgreSQL's is a session of its
    own. And who runs keeps the processor until its turn is over, unless it has asked
    for longer turns than who comes. Where a system knows some of this only, that has
    to do.
    """
    os.nice(LOWEST)
    if hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, mine[len(mine) // 2 :])
    if os.getsid(0) == os.getpid():  # else others in the session would be behind, too
        with suppress(OSError):
            AUTOGROUP.write_text(f"{LOWEST}")
    ask_for_long_turns()


def ask_for_long_turns() -> None:
    """Fewer of them; and who has shorter ones need not wait for their end (Linux 6.12
    and later; before, a kernel passes over the number)."""
    number = SCHED_SETATTR.get(platform.machine())
    if platform.system() != "Linux" or number is None:
        return
    wanted = SCHED_ATTR.pack(SCHED_ATTR.size, SCHED_OTHER, 0, LOWEST, 0, TURN_NS, 0, 0)
    ctypes.CDLL(None).syscall(number, 0, wanted, 0)
