"""Let a process die with its parent, whatever the process is doing.

The parent holds the other end of a pipe and never writes to it. When the parent ends,
the kernel closes that end.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading


def hold(end: int) -> None:
    """Kill this process's group once the other end of a pipe is closed.

    On Linux the kernel does it at once, even while a regular expression blocks all
    Python threads. Elsewhere a thread does it.

    Args:
        end: the reading end of the pipe.
    """
    if sys.platform == "linux":
        fcntl.fcntl(end, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(end, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(end, fcntl.F_GETFL)
        fcntl.fcntl(end, fcntl.F_SETFL, flags | os.O_ASYNC)
    # The thread also notices a pipe that was closed before these calls.
    threading.Thread(target=wait, args=(end,), name="lifeline", daemon=True).start()


def wait(end: int) -> None:
    os.read(end, 1)
    os.killpg(0, signal.SIGKILL)
