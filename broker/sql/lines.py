"""The connection of this thread, found quickly.

``django.db.connections`` asks at each use whether an event loop runs, and raises and
catches an exception if none does. That is a tenth of a client's time for one message.
"""

from __future__ import annotations

from asyncio import _get_running_loop  # as ``get_running_loop``, without an exception
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

STORE: Any = connections  # its private parts have no types


def database() -> BaseDatabaseWrapper:
    """``connections["default"]``: of this thread, or of this task of an event loop."""
    if _get_running_loop() is None:
        try:  # in the private storage of a thread
            found: BaseDatabaseWrapper = STORE._connections._storage.default
        except AttributeError:  # its first use in this thread, or asgiref has changed
            return connections[DEFAULT_DB_ALIAS]
        else:
            return found
    return connections[DEFAULT_DB_ALIAS]


def is_in_transaction() -> bool:
    """Whether the caller is in a block of ``atomic``. A task of an event loop has no
    connection, so it is not."""
    return _get_running_loop() is None and database().in_atomic_block


def connected() -> BaseDatabaseWrapper:
    """The same, with a connection to the server.

    Raises:
        SynchronousOnlyOperation: an event loop runs in this thread.
    """
    django = database()
    if django.connection is None or _get_running_loop() is not None:
        django.ensure_connection()
    return django
