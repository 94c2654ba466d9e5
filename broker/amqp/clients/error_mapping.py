"""Unexpected errors: map them to AMQP errors, and end only the client concerned."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from django.db import Error as DatabaseError

from broker.amqp.protocol.conditions import (
    INTERNAL_ERROR,
    UNAUTHORIZED_ACCESS,
    AmqpError,
)
from broker.amqp.threads import DatabaseAway
from broker.monitoring import logs

logger = logging.getLogger(__name__)


def as_amqp(error: BaseException) -> AmqpError:
    """The error to send to the client; an unexpected one is logged with its trace."""
    if isinstance(error, AmqpError):
        return error
    if isinstance(error, DatabaseAway | DatabaseError):
        logger.warning("A client is refused, as the database is away: %s", error)
        return AmqpError(INTERNAL_ERROR, "The database is away. Try again later.")
    logger.error("Unexpected error while serving a client.", exc_info=error)
    return AmqpError(INTERNAL_ERROR, "The broker had an unexpected error; see its log.")


def not_any_more() -> AmqpError:
    return AmqpError(UNAUTHORIZED_ACCESS, "You may not do this any more.")


class Guarded:
    """Runs calls and tasks of one client; an exception ends that client only."""

    transport: asyncio.Transport
    address: str  # names the client in log lines

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.tasks: set[asyncio.Task[None]] = set()

    def fail(self, error: AmqpError) -> None:
        """Send the error to the client, and end it."""
        raise NotImplementedError

    def guard(self, call: Callable[..., object], *args: Any, **kw: Any) -> None:
        """Make a call for this client."""
        try:
            call(*args, **kw)
        except Exception as error:  # noqa: BLE001 - logged, and sent to the client
            with logs.bound(client=self.address):
                self.break_off(as_amqp(error))

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine for this client, as a task."""
        task = self.loop.create_task(self.guarded(coroutine))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        # A task that is cancelled before it begins does not await its coroutine.
        task.add_done_callback(lambda _: coroutine.close())
        return task

    async def guarded(self, coroutine: Coroutine[Any, Any, None]) -> None:
        logs.bind(client=self.address)  # a task has a context of its own
        try:
            await coroutine
        except Exception as error:  # noqa: BLE001 - as in guard
            self.break_off(as_amqp(error))

    def break_off(self, error: AmqpError) -> None:
        try:
            self.fail(error)
        except Exception as another:  # noqa: BLE001 - only the socket can be closed
            as_amqp(another)
            self.transport.abort()
