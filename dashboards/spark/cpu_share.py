"""How much of its machine a reports worker takes, and how much it leaves to others."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psutil
from django.db import connection
from django.db.backends.signals import connection_created

LOWEST = 19
PEER = struct.Struct("3i")  # of Linux: process, user, group


def give_way() -> None:
    """Keep to half of the processors, the last ones, with the lowest priority; and so
    does all that is started from here, and what the database does for it.

    Where a system cannot keep a process to some processors, its priority has to do.
    """
    os.nice(LOWEST)
    if hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, mine[len(mine) // 2 :])
        connection_created.connect(keep_here)


def keep_here(**_: Any) -> None:
    take_along(connection.connection.info.backend_pid)


def take_along(backend: int) -> None:
    """Keep a process of the database, which works for this one, to its processors.

    Its priority stays: others of the database wait for what it locks. Nothing is done
    for who does not give way, nor where the database is on another machine, is somebody
    else’s, or is kept to other processors.

    Args:
        backend: its number, as the database tells it.
    """
    if os.nice(0) < LOWEST or not hasattr(os, "sched_setaffinity"):
        return
    with suppress(OSError, psutil.Error):
        if psutil.Process(backend).ppid() != listener():
            return
        if both := os.sched_getaffinity(backend) & os.sched_getaffinity(0):
            os.sched_setaffinity(backend, both)


def listener() -> int | None:
    """The process of this machine that listens for Django's connections; None where
    they go over a network: another machine numbers its own."""
    connection.ensure_connection()
    with socket.socket(fileno=os.dup(connection.connection.fileno())) as end:
        if end.family != socket.AF_UNIX:
            return None
        said = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
    process, _, _ = PEER.unpack(said)
    return int(process)


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
