"""Whether any thread of this process has a transaction open on Django's connection.

To ask another thread takes a hop to it and back. This is known here, without asking.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import ref

from django.db import DEFAULT_DB_ALIAS
from django.db.backends.base.base import BaseDatabaseWrapper

from broker.sql.threads import PoolThread

_lock = threading.Lock()
_connections: tuple[ref[BaseDatabaseWrapper], ...] = ()


def watch(*, connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Look at this connection from now on, unless it is of a thread of the broker; a
    receiver of ``connection_created``."""
    global _connections  # noqa: PLW0603
    is_ours = isinstance(threading.current_thread(), PoolThread)
    if connection.alias != DEFAULT_DB_ALIAS or is_ours:
        return
    with _lock:
        others = [one for one in _connections if one() not in (None, connection)]
        _connections = (*others, ref(connection))


def are_there_any() -> bool:
    """Whether there is a transaction; what broker code has begun does not count."""
    return any(is_open(one()) for one in _connections)


def is_open(django: BaseDatabaseWrapper | None) -> bool:
    """Whether a connection, which may be of another thread, has a transaction."""
    if django is None or django.connection is None:
        return False
    return not django.autocommit  # a block switches it off, too


def renew_lock() -> None:
    """In a child process after a fork: another thread may have held it."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()


os.register_at_fork(after_in_child=renew_lock)
