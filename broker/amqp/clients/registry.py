"""Tells the console who is connected, and what operators want closed.

Connections are written down when they open; what their endpoints do, and that they are
gone, once a second for all together. This is the part in the loop's thread; the
statements are in ``rows``.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from django.db import IntegrityError
from django.utils import timezone

from broker.amqp.clients import registry_rows
from broker.amqp.interfaces import ClientContext, End, Snapshot
from broker.amqp.protocol.conditions import (
    CONNECTION_FORCED,
    INVALID_FIELD,
    RESOURCE_LOCKED,
    AmqpError,
)
from broker.amqp.protocol.endpoints import Endpoint
from broker.amqp.protocol.performatives import Open
from broker.amqp.protocol.types.types import Symbol
from broker.models.clients import ClientConnection, ClientEndpoint, Credential

LOOKS = 8  # for a container id that another process may just be giving up
LOOKS_AGAIN_AFTER_S = 0.2
LONGEST_CONTAINER_ID = 1000  # characters

Database = Callable[..., "asyncio.Future[Any]"]
Connected = tuple[ClientContext, ClientConnection]


class OpenClient(ClientContext, Protocol):
    """The ``Client`` whose connection opens."""

    remote: Open
    address: str
    is_encrypted: bool

    @property
    def credential(self) -> Credential | None: ...

    @property
    def mechanism(self) -> str: ...


@dataclass(slots=True)
class Noted:
    """An endpoint, and its row."""

    client: ClientContext
    endpoint: Endpoint
    row: ClientEndpoint
    written: Snapshot | None = None  # what the row says; None: it is not there yet

    def look(self) -> Snapshot | None:
        """What it did until now; None while it is not accepted yet."""
        end: End | None = self.endpoint.context
        return None if end is None else end.snapshot()


class Register:
    """The connections and endpoints of a listener; for the loop's thread."""

    def __init__(self, database: Database, rounds: Database) -> None:
        """Args:
        database: runs something in a thread, for one client.
        rounds: the same for all of them, however much the clients want.
        """
        self.database = database
        self.rounds = rounds
        self.containers: Counter[str] = Counter()
        self.connections: dict[int, Connected] = {}  # by id
        self.noted: dict[Endpoint, Noted] = {}
        self.holders: dict[int, dict[Endpoint, bool]] = {}  # by queue; if exclusive
        self.gone_connections: list[int] = []
        self.gone_endpoints: list[int] = []
        self.is_anew = False  # all must be written again

    async def enter(self, client: OpenClient, *, is_alone: bool) -> int:
        """Write down a connection that opens; return the id of its row.

        Args:
            client: that has logged in.
            is_alone: whether it wants to be the only one with its container id.

        Raises:
            AmqpError: there is another, or the id cannot be kept.
        """
        name = client.container_id
        if len(name) > LONGEST_CONTAINER_ID or "\0" in name:
            raise duplicate("Such a container-id cannot be kept.")
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

    async def entered(self, client: OpenClient, *, is_alone: bool) -> ClientConnection:
        for look in range(LOOKS):
            if look:
                await asyncio.sleep(LOOKS_AGAIN_AFTER_S)
            row = connection_of(client)
            if await self.database(registry_rows.enter, row, is_alone=is_alone):
                return row
        raise duplicate(f"{client.container_id} is connected already.")

    def leave(self, client: ClientContext) -> None:
        """The connection is gone; its endpoints go with it."""
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
        client: ClientContext,
        endpoint: Endpoint,
        queue_id: int,
        *,
        exclusive: bool = True,
    ) -> None:
        """Write down an endpoint that is to get from a queue.

        One that wants the queue for itself has it until it is gone, among the endpoints
        of all processes.

        Raises:
            AmqpError: another has the queue for itself, or this one cannot, as there
                are others; or the client is gone.
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
                raise gone() from error  # and its row was removed
            raise
        nothing = Snapshot(0, 0, 0, 0)
        self.noted[endpoint] = Noted(client, endpoint, row, written=nothing)
        if client.gone or endpoint.gone:
            self.remove(endpoint)

    async def held(
        self,
        client: ClientContext,
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

    def add(self, client: ClientContext, endpoint: Endpoint) -> None:
        """Write down an endpoint that was accepted."""
        if endpoint not in self.noted:
            end: End = endpoint.context
            row = row_of(client, endpoint, kind=end.kind)
            row.node, row.queue_id = registry_rows.readable(end.node), end.queue_id
            self.noted[endpoint] = Noted(client, endpoint, row)

    def remove(self, endpoint: Endpoint) -> None:
        """The endpoint is gone, or is refused after ``hold``."""
        noted = self.noted.pop(endpoint, None)
        if noted is None:
            return
        self.release(noted.row.queue_id, endpoint)
        if noted.written is not None:
            self.gone_endpoints.append(noted.row.pk)

    async def write(self) -> registry_rows.CloseRequests:
        """Write down what happened since the last time; return what is to be closed.

        Raises:
            DatabaseError: nothing was written; the next time it will be.
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
        """What is to be written, and of which endpoints."""
        for endpoint in [one for one in self.noted if one.gone]:
            self.remove(endpoint)  # by whomever
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
                one.row.credit, one.row.unsettled, one.row.messages, _ = snapshot
                now.new.append(one.row)
            else:
                now.changed[one.row.pk] = snapshot
        return now, written

    def forget_what_is_written(self) -> None:
        for one in self.noted.values():
            one.row.pk = one.written = None

    def confirm(self, noted: Noted, snapshot: Snapshot) -> None:
        noted.written = snapshot
        if self.noted.get(noted.endpoint) is not noted:  # it went in the meantime
            self.gone_endpoints.append(noted.row.pk)

    def endpoint(self, row_id: int) -> tuple[ClientContext, Endpoint] | None:
        """Whose row that is, if it is one of ours."""
        for one in self.noted.values():
            if one.row.pk == row_id:
                return one.client, one.endpoint
        return None


def connection_of(client: OpenClient) -> ClientConnection:
    """The row of a connection that has opened."""
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
        opened_at=timezone.now(),
    )


def row_of(client: ClientContext, endpoint: Endpoint, *, kind: str) -> ClientEndpoint:
    """The row of an endpoint, but for where it is."""
    return ClientEndpoint(
        connection_id=client.id,
        session=endpoint.session.channel,
        name=registry_rows.readable(endpoint.name),
        kind=kind,
        opened_at=timezone.now(),
    )


def gone() -> AmqpError:
    return AmqpError(CONNECTION_FORCED, "The client is gone.")


def locked() -> AmqpError:
    return AmqpError(RESOURCE_LOCKED, "A consumer has the queue for itself.")


def duplicate(description: str) -> AmqpError:
    """Why a container id cannot be had; clients look at the info.

    Source: AMQP 1.0, 2.7.1 and 2.8.16; JMS mapping of AMQP, 5.1.
    """
    info = {Symbol("invalid-field"): Symbol("container-id")}
    return AmqpError(INVALID_FIELD, description, info)
