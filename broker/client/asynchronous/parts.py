"""Parts of something synchronous that run in threads, for asynchronous code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async

from broker.client.asynchronous.joining import in_transaction
from broker.client.asynchronous.threads import STATEMENTS, error_of_django
from broker.sql.threads import DatabaseAway

Asked = ParamSpec("Asked")
Result = TypeVar("Result")


class Parts:
    """Runs parts one after the other, in threads of the broker; or in the thread of
    ``sync_to_async``, if that was in a transaction at the beginning."""

    def __init__(self) -> None:
        self.joins = False
        # A part whose caller was cancelled runs to its end, and the next comes after.
        self.lock = threading.Lock()

    async def begin(self) -> None:
        self.joins = await in_transaction()

    async def run(
        self, function: Callable[Asked, Result], *args: Asked.args, **kw: Asked.kwargs
    ) -> Result:
        """Run a part to its end, even if the caller is cancelled."""
        call = partial(self.in_turn, partial(function, *args, **kw))
        try:
            return await asyncio.shield(self.begun(call))
        except DatabaseAway as away:
            raise error_of_django(away) from away

    def begun(self, call: Callable[[], Result]) -> asyncio.Future[Result]:
        if not self.joins:
            return STATEMENTS.use(lambda pool: pool.run(call))
        part: Coroutine[Any, Any, Result] = sync_to_async(call)()
        return asyncio.ensure_future(part)

    def in_turn(self, call: Callable[[], Result]) -> Result:
        with self.lock:
            return call()
