"""Whether asynchronous code is part of a transaction of Django's.

Django's own asynchronous methods, such as ``acreate``, run in one thread, that of
``sync_to_async``. If its connection is in a transaction, as in a ``TestCase`` or below
a synchronous middleware, what the caller does is part of it. To ask that thread is a
hop to it and back. So it is asked once for its connection, which is then looked at from
here.
"""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary, ref

from asgiref.sync import AsyncToSync, SyncToAsync, sync_to_async
from django.db.backends.base.base import BaseDatabaseWrapper

from broker.sql.lines import database

# By what stands for the thread.
known: WeakKeyDictionary[object, ref[BaseDatabaseWrapper]] = WeakKeyDictionary()


async def in_transaction() -> bool:
    """Whether the thread of ``sync_to_async`` is in a transaction."""
    thread = thread_of_django()
    found = known.get(thread)
    django = None if found is None else found()
    if django is None:
        try:
            django = await sync_to_async(database)()
        except RuntimeError:  # a task that outlived the thread
            return False
        known[thread] = ref(django)
    is_connected = django.connection is not None
    return django.in_atomic_block or (is_connected and not django.autocommit)


def thread_of_django() -> object:
    """What ``sync_to_async`` finds its thread by: the caller of ``async_to_sync``, the
    request, the event loop, or the process.

    These are private parts of asgiref. A new object, if they have changed: then each
    call asks.
    """
    try:
        return (
            getattr(AsyncToSync.executors, "current", None)
            or SyncToAsync.thread_sensitive_context.get(None)
            or AsyncToSync.loop_thread_executors.get(asyncio.get_running_loop())
            or SyncToAsync.single_thread_executor
        )
    except AttributeError:
        return Unknown()


class Unknown:
    """Stands for a thread that cannot be found without asking."""
