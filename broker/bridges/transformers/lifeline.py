"""A process that dies with its parent, whatever it is doing and however that ends.

The parent holds the other end of a pipe and never writes. When the parent is gone, the
kernel closes that end.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading


def hold(end: int) -> None:
    """Kill the process group that this process leads once a pipe's other end is closed.

    On Linux the kernel does it at once, even while the process is inside a regular
    expression and runs no other Python. Elsewhere a thread does, when it gets its turn.

    Args:
        end: of the pipe, to read from.
    """
    if sys.platform == "linux":
        fcntl.fcntl(end, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(end, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(end, fcntl.F_GETFL)
        fcntl.fcntl(end, fcntl.F_SETFL, flags | os.O_ASYNC)
    # What was closed before the kernel was told is found by the thread.
    threading.Thread(target=wait, args=(end,), name="lifeline", daemon=True).start()


def wait(end: int) -> None:
    os.read(end, 1)
    os.killpg(0, signal.SIGKILL)
