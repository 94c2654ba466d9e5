"""Periodic work of a listener: once a second, for all its clients together.

It writes the register, which returns the operators' requests to close connections and
endpoints. It reads authorities, and ends links whose authority was withdrawn.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import psycopg
from django.db import Error as DatabaseError

from broker.amqp.clients import permission_cache, registry_rows
from broker.amqp.clients.permission_cache import Key
from broker.amqp.protocol.conditions import DETACH_FORCED, AmqpError
from broker.sql.threads import DatabaseAway

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client
    from broker.amqp.listener import Listener

logger = logging.getLogger(__name__)

ROUND_S = 1.0
LAST_WITHIN_S = 2.0
BY_OPERATOR = "An operator closed it."


class Rounds:
    """The periodic rounds of one listener; for the loop's thread."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.task: asyncio.Task[None] | None = None
        self.is_away = False  # the database is away, and this was logged
        self.turned_away = 0  # connections refused since the last round
        self.why = ""

    def start(self) -> None:
        self.task = self.listener.loop.create_task(self.go_on())

    async def stop(self) -> None:
        """Stop, and remove the rows of all clients, which have ended by now."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])
        try:
            async with asyncio.timeout(LAST_WITHIN_S):
                await self.listener.register.write()
        except (DatabaseError, DatabaseAway, psycopg.Error, TimeoutError) as error:
            logger.warning(
                "Rows of clients are left for other processes to delete: %s", error
            )

    def refused(self, address: str, why: str) -> None:
        """Note a refused connection; refused connections are logged together, once a
        second."""
        self.turned_away += 1
        self.why = f"{address}: {why}"

    async def go_on(self) -> None:
        while True:
            await asyncio.sleep(ROUND_S)
            await self.attempt()

    async def attempt(self) -> None:
        """Run one round; an error in a round does not stop later rounds."""
        if self.turned_away:
            count, self.turned_away = self.turned_away, 0
            logger.warning("Connections refused: %d, the last %s", count, self.why)
        try:
            await self.look_at_rights()
            await self.look_at_rows()
        except (DatabaseError, DatabaseAway, psycopg.Error) as error:
            if not self.is_away:
                logger.warning("The register of clients waits: %s", error)
            self.is_away = True
        except Exception:
            logger.exception("A periodic round of the listener failed.")
        else:
            self.is_away = False

    async def look_at_rights(self) -> None:
        principals = self.listener.principals
        if not principals.known:
            return
        held = await self.listener.own.run(
            permission_cache.look, list(principals.known)
        )
        changed = principals.change(held)
        for client in self.clients() if changed else ():
            if Key.of(client.identity) in changed:
                client.guard(client.reconsider)

    async def look_at_rows(self) -> None:
        asked = await self.listener.register.write()
        for client in self.clients() if asked.connections else ():
            if client.id in asked.connections:
                client.guard(client.force, BY_OPERATOR)
        self.close_endpoints(asked)

    def close_endpoints(self, asked: registry_rows.CloseRequests) -> None:
        error = AmqpError(DETACH_FORCED, BY_OPERATOR)
        for row_id in asked.endpoints:
            found = self.listener.register.endpoint(row_id)
            if found is not None:
                client, endpoint = found
                client.guard(client.cast_off, endpoint, error)

    def clients(self) -> list[Client]:
        """The clients whose connections are open."""
        return [one for one in self.listener.clients if one.id and not one.gone]
