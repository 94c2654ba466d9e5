"""Limit the processors and the priority of a reports worker."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings
from django.db import connection
from django.db.backends.signals import connection_created

LOWEST = 19
# the credentials of a socket's peer on Linux: process, user, group
PEER = struct.Struct("3i")
# Some Linux systems share processors between sessions (autogroup). There, a priority
# counts within its session only; this file has the priority of the session itself.
SESSION = Path("/proc/self/autogroup")


def give_way() -> None:
    """Run on the last half of the processors, with the priority of
    ``BACKOUT_REPORTS_NICE``.

    The limits also hold for processes that this one starts; the database's processes
    for its connections get the processors. Where the system cannot limit a process to
    some processors, only the priority is set.
    """
    now = os.nice(max(0, settings.BACKOUT_REPORTS_NICE - os.nice(0)))
    # This process began its session, so no program of the broker is in it.
    if os.getsid(0) == os.getpid():
        with suppress(OSError):
            SESSION.write_text(str(now))
    if hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, mine[len(mine) // 2 :])
        connection_created.connect(keep_here)


def keep_here(**_: Any) -> None:
    take_along(connection.connection.info.backend_pid)


def take_along(backend: int) -> None:
    """Limit the database process of a connection to the processors of this process.

    Its priority stays, because other database processes may wait for its locks. Nothing
    happens if this process is not limited, or if the database runs on another machine,
    belongs to another user, or is limited to other processors.

    Args:
        backend: the process id, as the database reports it.
    """
    if os.nice(0) == 0 or not hasattr(os, "sched_setaffinity"):
        return
    with suppress(OSError, psutil.Error):
        if psutil.Process(backend).ppid() != listener():
            return
        if both := os.sched_getaffinity(backend) & os.sched_getaffinity(0):
            os.sched_setaffinity(backend, both)


def listener() -> int | None:
    """The id of the local process that accepts Django's connections; None over TCP,
    because another machine has its own process ids."""
    connection.ensure_connection()
    with socket.socket(fileno=os.dup(connection.connection.fileno())) as end:
        if end.family != socket.AF_UNIX:
            return None
        said = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
    process, _, _ = PEER.unpack(said)
    return int(process)


def behind_all(start: Callable[[], object]) -> None:
    """Call ``start``; with the lowest priority, what it starts runs with SCHED_IDLE.

    A low priority is not enough: a process that puts or gets would wait for Java until
    the next clock tick. This process itself does not use SCHED_IDLE: while it copies
    the journal, PostgreSQL cannot vacuum deleted rows; and SCHED_IDLE cannot be undone.
    """
    if os.nice(0) < LOWEST or not hasattr(os, "SCHED_IDLE"):
        start()
        return
    with ThreadPoolExecutor(1, initializer=come_last) as aside:
        aside.submit(start).result()


def come_last() -> None:
    """Set SCHED_IDLE for this thread and for all that it starts."""
    with suppress(OSError):  # a sandbox may not allow the call
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
