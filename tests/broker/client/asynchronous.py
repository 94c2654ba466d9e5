"""Asynchronous code in tests: what it runs, and in which sessions of the database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar

from django.db import connection

from broker.client import AsyncDeliveries, aconsumer
from broker.client.asynchronous.puts import PUTS
from broker.client.asynchronous.threads import STATEMENTS

WITHIN_S = 60
Body = Callable[[AsyncDeliveries], Awaitable[None]]
Asked = ParamSpec("Asked")
Result = TypeVar("Result")


def backend() -> int:
    """The process of the server that serves this thread."""
    connection.ensure_connection()
    return int(connection.connection.info.backend_pid)


async def backend_of_puts() -> int:
    return await PUTS.use(lambda pool: pool.run(backend))


async def backend_of_statements() -> int:
    return await STATEMENTS.use(lambda pool: pool.run(backend))


async def apart(
    call: Callable[Asked, Result], *args: Asked.args, **kw: Asked.kwargs
) -> Result:
    """Call a function in a thread with a session that ends."""

    def run() -> Result:
        try:
            return call(*args, **kw)
        finally:
            connection.close()

    return await asyncio.to_thread(run)


def is_there(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid])
        return bool(cursor.fetchall())


def terminate(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def consume(body: Body, **options: Any) -> None:
    """Run the body of a block."""

    async def run() -> None:
        async with aconsumer("orders", **{"timeout_s": 0} | options) as deliveries:
            await body(deliveries)

    asyncio.run(asyncio.wait_for(run(), WITHIN_S))


def got(**options: Any) -> list[bytes]:
    found: list[bytes] = []

    async def read(deliveries: AsyncDeliveries) -> None:
        found.extend([one.body async for one in deliveries])

    consume(read, **options)
    return found
