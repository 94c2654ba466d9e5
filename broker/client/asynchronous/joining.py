"""Whether asynchronous code is part of a transaction of Django's.

Django's own asynchronous methods, such as ``acreate``, run in one thread, that of
``sync_to_async``. If its connection is in a transaction, as in a ``TestCase`` or below
a synchronous middleware, what the caller does is part of it. That thread is asked only
while any thread of this process is in one.
"""

from __future__ import annotations

from asgiref.sync import sync_to_async

from broker.sql import open_transactions
from broker.transactions.session import has_transaction


async def in_transaction() -> bool:
    """Whether the thread of ``sync_to_async`` is in a transaction."""
    if not open_transactions.are_there_any():
        return False
    try:
        return await sync_to_async(has_transaction)()
    except RuntimeError:  # this task has outlived the thread
        return False
