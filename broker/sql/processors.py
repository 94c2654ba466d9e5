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
from contextlib import ExitStack, contextmanager, suppress
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
    everything = sorted(os.sched_getaffinity(0))
    half = set(everything[len(everything) // 2 :])
    connection.ensure_connection()
    backend = connection.connection.info.backend_pid
    with ExitStack() as limits:
        limits.enter_context(keep_to(0, half))
        if serves(backend):
            limits.enter_context(keep_to(backend, half))
        yield


@contextmanager
def keep_to(process: int, processors: set[int]) -> Iterator[None]:
    """Limit a process, or with 0 this thread, to some of its processors where the
    system allows it; then as before."""
    before: set[int] = set()
    parent = parent_of(process)
    with suppress(OSError):
        before = os.sched_getaffinity(process)
        os.sched_setaffinity(process, before & processors or before)
    try:
        yield
    finally:
        # Another process may have the id of one that has ended.
        if before and parent_of(process) == parent:
            with suppress(OSError):
                os.sched_setaffinity(process, before)


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
    """The id of the process that started another one; None if there is no such one."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    # The name of a process, in parentheses, may have spaces.
    return int(stat.rpartition(")")[2].split()[1])
