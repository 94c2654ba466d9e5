"""Registry of connections and endpoints in the database, for the console.

A connection is written when it opens. Counts of endpoints, and what is gone, are
written once a second for all together; the answer has the operators' requests to close.
This part runs in the loop's thread; the SQL is in ``registry_rows``.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError

from broker.amqp.clients import registry_rows
from broker.amqp.ends import End, Snapshot
from broker.amqp.protocol.conditions import (
    CONNECTION_FORCED,
    INVALID_FIELD,
    RESOURCE_LOCKED,
    AmqpError,
)
from broker.amqp.protocol.endpoints import Endpoint
from broker.amqp.protocol.types.types import Symbol
from broker.models.clients import ClientConnection, ClientEndpoint

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

# Attempts to register a container id, as another process may just be releasing the same
# id.
LOOKS = 8
LOOKS_AGAIN_AFTER_S = 0.2
LONGEST_CONTAINER_ID = 1000  # most characters

Database = Callable[..., "asyncio.Future[Any]"]


@dataclass(slots=True)
class Noted:
    """An endpoint and its row in the database."""

    client: Client
    endpoint: Endpoint
    row: ClientEndpoint
    # Values in the row; None: the row is not inserted yet.
    written: Snapshot | None = None

    def look(self) -> Snapshot | None:
        """Current counts of the endpoint; None while its attach is not accepted."""
        end: End | None = self.endpoint.context
        return None if end is None else end.snapshot()


class Register:
    """The connections and endpoints of a listener; for the loop's thread."""

    def __init__(self, database: Database, rounds: Database) -> None:
        """Args:
        database: runs a call in a thread, for one client.
        rounds: runs a call in a thread of its own, which clients cannot keep busy.
        """
        self.database = database
        self.rounds = rounds
        self.containers: Counter[str] = Counter()
        self.connections: dict[
            int, tuple[Client, ClientConnection]
        ] = {}  # by connection id
        self.noted: dict[Endpoint, Noted] = {}
        # Endpoints that consume each queue; the value: whether exclusively.
        self.holders: dict[int, dict[Endpoint, bool]] = {}
        self.gone_connections: list[int] = []
        self.gone_endpoints: list[int] = []
        self.is_anew = False  # whether all rows must be written again

    async def enter(self, client: Client, *, is_alone: bool) -> int:
        """Insert the row of a connection that opens; return the row's id.

        Args:
            client: a client that has logged in.
            is_alone: whether no other connection may have its container id.

        Raises:
            AmqpError: another connection has it, or the id cannot be stored.
        """
        name = client.container_id
        if len(name) > LONGEST_CONTAINER_ID or "\0" in name:
            raise duplicate("This container-id is too long, or has a NUL.")
        if is_alone and self.containers[name]:
            raise duplicate(f"{name} is connected already.")
        self.containers[name] += 1
        try:
            row = await self.entered(client, is_alone=is_alone)
        except BaseException:
            self.give_up(name)
            raise
        self.connections[row.pk] = client, row
        return row.pk

    async def entered(self, client: Client, *, is_alone: bool) -> ClientConnection:
        for look in range(LOOKS):
            if look:
                await asyncio.sleep(LOOKS_AGAIN_AFTER_S)
            row = connection_of(client)
            if await self.database(registry_rows.enter, row, is_alone=is_alone):
                return row
        raise duplicate(f"{client.container_id} is connected already.")

    def leave(self, client: Client) -> None:
        """Note that a connection is gone, with its endpoints."""
        if self.connections.pop(client.id, None) is None:
            return
        self.give_up(client.container_id)
        self.gone_connections.append(client.id)

    def give_up(self, container_id: str) -> None:
        self.containers[container_id] -= 1
        if not self.containers[container_id]:
            del self.containers[container_id]

    async def hold(
        self,
        client: Client,
        endpoint: Endpoint,
        queue_id: int,
        *,
        exclusive: bool = True,
    ) -> None:
        """Insert the row of an endpoint that is to get from a queue.

        An exclusive one keeps the endpoints of all processes away from the queue until
        it is gone.

        Raises:
            AmqpError: another endpoint has the queue exclusively; or this one is to be
                exclusive and there are others; or the client is gone.
        """
        here = self.holders.setdefault(queue_id, {})
        if any(here.values()) or (exclusive and here):
            raise locked()
        here[endpoint] = exclusive
        try:
            row = await self.held(client, endpoint, queue_id, exclusive=exclusive)
        except BaseException as error:
            self.release(queue_id, endpoint)
            if isinstance(error, IntegrityError) and client.gone:
                # The row of the client's connection was deleted meanwhile.
                raise gone() from error
            raise
        nothing = Snapshot(0, 0, 0, 0)
        self.noted[endpoint] = Noted(client, endpoint, row, written=nothing)
        if client.gone or endpoint.gone:
            self.remove(endpoint)

    async def held(
        self,
        client: Client,
        endpoint: Endpoint,
        queue_id: int,
        *,
        exclusive: bool,
    ) -> ClientEndpoint:
        for look in range(LOOKS):
            if look:
                await asyncio.sleep(LOOKS_AGAIN_AFTER_S)
            row = row_of(client, endpoint, kind=ClientEndpoint.Kind.GETS)
            row.queue_id, row.is_exclusive = queue_id, exclusive
            gone, self.gone_endpoints = self.gone_endpoints, []
            try:
                is_held = await self.database(registry_rows.hold, row, gone)
            except BaseException:
                self.gone_endpoints += gone
                raise
            if is_held:
                return row
        raise locked()

    def release(self, queue_id: int | None, endpoint: Endpoint) -> None:
        here = self.holders.get(queue_id or 0, {})
        here.pop(endpoint, None)
        if not here:
            self.holders.pop(queue_id or 0, None)

    def add(self, client: Client, endpoint: Endpoint) -> None:
        """Register an accepted endpoint; the next round inserts its row."""
        if endpoint not in self.noted:
            end: End = endpoint.context
            row = row_of(client, endpoint, kind=end.kind)
            row.node, row.queue_id = registry_rows.readable(end.node), end.queue_id
            self.noted[endpoint] = Noted(client, endpoint, row)

    def remove(self, endpoint: Endpoint) -> None:
        """Remove an endpoint that is gone, or that is refused after ``hold``."""
        noted = self.noted.pop(endpoint, None)
        if noted is None:
            return
        self.release(noted.row.queue_id, endpoint)
        if noted.written is not None:
            self.gone_endpoints.append(noted.row.pk)

    async def write(self) -> registry_rows.CloseRequests:
        """Write the changes since the last call; return the requests to close.

        Raises:
            DatabaseError: nothing was written; the next call retries it.
            DatabaseAway: the same.
        """
        now, written = self.round()
        try:
            asked: registry_rows.CloseRequests = await self.rounds(
                registry_rows.write, now
            )
        except BaseException as error:
            self.gone_connections += now.gone_connections
            self.gone_endpoints += now.gone_endpoints
            self.is_anew |= bool(now.everything)
            if isinstance(error, registry_rows.OwnerChanged | IntegrityError):
                self.is_anew = True
                return registry_rows.CloseRequests(frozenset(), frozenset())
            raise
        for noted, snapshot in written:
            self.confirm(noted, snapshot)
        return asked

    def round(self) -> tuple[registry_rows.Round, list[tuple[Noted, Snapshot]]]:
        """The changes to write, and the endpoints that the changes belong to."""
        for endpoint in [one for one in self.noted if one.gone]:
            self.remove(endpoint)  # the client or the broker has detached it
        now = registry_rows.Round(
            gone_endpoints=self.gone_endpoints,
            gone_connections=self.gone_connections,
        )
        self.gone_endpoints, self.gone_connections = [], []
        if self.is_anew:
            self.is_anew = False
            self.forget_what_is_written()
            now.everything = [row for _, row in self.connections.values()]
        written = [
            (one, snapshot)
            for one in self.noted.values()
            if (snapshot := one.look()) is not None and snapshot != one.written
        ]
        for one, snapshot in written:
            if one.written is None:
                for name in registry_rows.COUNTS:
                    setattr(one.row, name, getattr(snapshot, name))
                now.new.append(one.row)
            else:
                now.changed[one.row.pk] = snapshot
        return now, written

    def forget_what_is_written(self) -> None:
        for one in self.noted.values():
            one.row.pk = one.written = None

    def confirm(self, noted: Noted, snapshot: Snapshot) -> None:
        noted.written = snapshot
        # The endpoint was removed while its row was inserted.
        if self.noted.get(noted.endpoint) is not noted:
            self.gone_endpoints.append(noted.row.pk)

    def endpoint(self, row_id: int) -> tuple[Client, Endpoint] | None:
        """The client and endpoint of a row, if they belong to this listener."""
        for one in self.noted.values():
            if one.row.pk == row_id:
                return one.client, one.endpoint
        return None


def connection_of(client: Client) -> ClientConnection:
    """The row of a connection that is being opened."""
    properties = client.remote.properties or {}
    credential = client.credential
    return ClientConnection(
        container_id=client.container_id,
        user_id=client.user.pk,
        credential_id=credential.pk if credential else None,
        mechanism=client.mechanism,
        host=client.address,
        is_encrypted=client.is_encrypted,
        product=registry_rows.readable(properties.get("product") or ""),
        opened_at=datetime.now(UTC),
    )


def row_of(client: Client, endpoint: Endpoint, *, kind: str) -> ClientEndpoint:
    """The row of an endpoint, without its node and queue."""
    return ClientEndpoint(
        connection_id=client.id,
        session=endpoint.session.channel,
        name=registry_rows.readable(endpoint.name),
        kind=kind,
        opened_at=datetime.now(UTC),
    )


def gone() -> AmqpError:
    return AmqpError(CONNECTION_FORCED, "The client is gone.")


def locked() -> AmqpError:
    return AmqpError(RESOURCE_LOCKED, "A consumer has the queue exclusively.")


def duplicate(description: str) -> AmqpError:
    """The error for a container id that cannot be used; clients read its info.

    Source: AMQP 1.0, 2.7.1 and 2.8.16; JMS mapping of AMQP, 5.1.
    """
    info = {Symbol("invalid-field"): Symbol("container-id")}
    return AmqpError(INVALID_FIELD, description, info)
