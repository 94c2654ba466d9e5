"""Errors that are not the client's own: what it is told, and that they end it alone."""

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

logger = logging.getLogger(__name__)


def as_amqp(error: BaseException) -> AmqpError:
    """What to tell the client; what nobody has foreseen is logged, with its trace."""
    if isinstance(error, AmqpError):
        return error
    if isinstance(error, DatabaseAway | DatabaseError):
        logger.warning("A client is refused, as the database is away: %s", error)
        return AmqpError(INTERNAL_ERROR, "The database is away. Try again later.")
    logger.error("A client met a mistake of ours.", exc_info=error)
    return AmqpError(INTERNAL_ERROR, "The broker made a mistake; its log has more.")


def not_any_more() -> AmqpError:
    return AmqpError(UNAUTHORIZED_ACCESS, "You may not do this any more.")


class Guarded:
    """What runs for one client. An exception of it ends that client, and no other."""

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.tasks: set[asyncio.Task[None]] = set()

    def fail(self, error: AmqpError) -> None:
        """Tell the client, and end it."""
        raise NotImplementedError

    def guard(self, call: Callable[..., object], *args: Any, **kw: Any) -> None:
        """Call something for this client."""
        try:
            call(*args, **kw)
        except Exception as error:  # noqa: BLE001 - it is logged, and the client told
            self.break_off(as_amqp(error))

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run something for this client."""
        task = self.loop.create_task(self.guarded(coroutine))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def guarded(self, coroutine: Coroutine[Any, Any, None]) -> None:
        try:
            await coroutine
        except Exception as error:  # noqa: BLE001 - as in guard
            self.break_off(as_amqp(error))

    def break_off(self, error: AmqpError) -> None:
        try:
            self.fail(error)
        except Exception as another:  # noqa: BLE001 - what is left is the socket
            as_amqp(another)
            self.transport.abort()
