"""The web process: pages and the API over HTTP, live numbers over WebSockets."""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import django
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.checks import run_checks
from django.core.handlers.asgi import ASGIHandler
from django.db import DEFAULT_DB_ALIAS, connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from console.runtime.request_size import BoundedRequest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

START = "start"  # the tag of checks without which nothing is served
MOST_IDLE = 20  # idle threads that are kept for later requests
POOL = {"min_size": 1, "max_size": 10, "timeout": 10}


class Pages(ASGIHandler):
    """Django with synchronous views and middleware. Each request runs in one thread,
    and threads are reused.
    """

    def __init__(self) -> None:
        super().__init__()
        self.idle: list[ThreadPoolExecutor] = []  # executors of one thread each

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: FBT001, FBT002
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send)
            return
        request = BoundedRequest(scope, receive)
        thread = self.idle.pop() if self.idle else ThreadPoolExecutor(max_workers=1)
        try:
            async with ThreadSensitiveContext(executor=thread):
                await super().__call__(request.scope, request.receive, send)
        finally:
            # The thread may still work for a client that has disconnected. It is kept
            # for other requests when that work is done.
            loop = asyncio.get_running_loop()
            thread.submit(loop.call_soon_threadsafe, self.keep, thread)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        answer: HttpResponseBase = await sync_to_async(self.get_response)(request)
        return answer

    def keep(self, thread: ThreadPoolExecutor) -> None:
        if len(self.idle) < MOST_IDLE:
            self.idle.append(thread)
        else:
            thread.shutdown(wait=False)


def require_start() -> None:
    """Exit with a sentence if a check for the start fails."""
    found = run_checks(tags=[START], include_deployment_checks=True)
    if found:
        sys.exit("\n".join(map(str, found)))


async def lifespan(receive: Any, send: Any) -> None:
    """Tell the server that the application has started, and has ended."""
    await receive()
    share_connections()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


def share_connections() -> None:
    """Give all threads of this process a pool of connections to the database: they are
    many and short-lived. Threads of other processes live long, and keep their own."""
    database = connections.settings[DEFAULT_DB_ALIAS]
    database["CONN_MAX_AGE"] = 0
    database["OPTIONS"]["pool"] = POOL


django.setup(set_prefix=False)
# in another thread: the event loop runs in this one
with ThreadPoolExecutor(max_workers=1) as one:
    one.submit(require_start).result()
pages = Pages()  # before the import below, which needs loaded applications

from console.integration.sockets import with_sockets  # noqa: E402

application = with_sockets(pages)
