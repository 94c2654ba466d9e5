"""Processors: long work keeps to half of them, and so does the database's process that
does it.

A consumer takes and accepts in a few milliseconds, in several short turns on a
processor. Where long work may run on all processors, a turn waits for the next clock
tick behind it. Priorities do not change, because other processes of the database may
wait for the locks of this one.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.db import connection

# The credentials of a socket's peer on Linux: process, user, group.
PEER = struct.Struct("3i")


@contextmanager
def last_half() -> Iterator[None]:
    """Run this thread on the last half of its processors, and so the database's process
    of its connection; then as before.

    Only this thread is limited if the database runs on another machine or belongs to
    another user. Nothing happens where a system cannot limit a thread.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = {0: os.sched_getaffinity(0)}  # by process; 0 is this thread
    half = set(sorted(before[0])[len(before[0]) // 2 :])
    connection.ensure_connection()
    backend = connection.connection.info.backend_pid
    with suppress(OSError):
        if serves(backend):
            before[backend] = os.sched_getaffinity(backend)
    try:
        for process, all_of_it in before.items():
            keep_to(process, all_of_it & half)
        yield
    finally:
        for process, all_of_it in before.items():
            keep_to(process, all_of_it)


def keep_to(process: int, processors: set[int]) -> None:
    """Limit a process to some processors, if there are any and the system allows it."""
    if processors:
        with suppress(OSError):
            os.sched_setaffinity(process, processors)


def serves(backend: int) -> bool:
    """Whether a process id, as the database reports it, is of a process of this
    machine's PostgreSQL that Django uses. Another machine has its own process ids."""
    listening = listener()
    return listening is not None and listening == parent_of(backend)


def listener() -> int | None:
    """The id of the local process that accepts Django's connections; None over TCP."""
    connection.ensure_connection()
    with socket.socket(fileno=os.dup(connection.connection.fileno())) as end:
        if end.family != socket.AF_UNIX:
            return None
        peer = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
    process, _, _ = PEER.unpack(peer)
    return int(process)


def parent_of(process: int) -> int | None:
    """The id of the process that started another one; None if that has ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    # The name of a process, in parentheses, may have spaces.
    return int(stat.rpartition(")")[2].split()[1])
