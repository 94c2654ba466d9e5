"""Protocols: the parts of a client that its own parts use, and the parts of a listener
that its clients use."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any, Protocol, TypeVar

from broker.amqp.clients.access import Access
from broker.amqp.clients.backpressure import Hearing
from broker.amqp.clients.identity import Identities, Identity
from broker.amqp.clients.login_line import LoginLine
from broker.amqp.clients.permission_cache import Principals, Rights
from broker.amqp.clients.registry import Register
from broker.amqp.limits import ListenerLimits
from broker.amqp.nodes.interfaces import NodeClient, NodeListener
from broker.amqp.protocol.connection import Connection
from broker.amqp.protocol.endpoints import Endpoint
from broker.amqp.protocol.performatives import Open
from broker.amqp.protocol.types.types import Symbol
from broker.amqp.threads import Pool
from broker.models.clients import Credential
from broker.security.authorities import GrantedAuthorities

ClientT = TypeVar("ClientT")


class LoginListener(NodeListener, Protocol):
    """The part of ``Listener`` that the parts of a client use."""

    access: Access
    line: LoginLine
    identities: Identities
    register: Register


class ClientListener(LoginListener, Protocol[ClientT]):
    """The part of ``Listener`` that its clients use."""

    limits: ListenerLimits
    container_id: str
    properties: dict[Symbol, str]
    stopping: bool
    principals: Principals
    own: Pool

    @property
    def clients(self) -> Collection[ClientT]: ...

    def admit(self, client: ClientT, transport: asyncio.Transport) -> bool: ...

    def welcome(self, client: ClientT) -> Rights: ...

    def forget(self, client: ClientT) -> None: ...

    def dismiss(self, client: ClientT) -> None: ...


class LoginStep(Protocol):
    """The authentication step of a client: ``Login`` or ``Visit``."""

    def receive(self, data: bytes) -> None: ...


class ConnectedClient(NodeClient, Protocol):
    """The part of ``Client`` that its parts use."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    connection: Connection
    hearing: Hearing
    is_encrypted: bool
    address: str
    ip: str
    host: str
    login: LoginStep | None
    has_turn: bool
    early: bytes
    identity: Identity
    held: GrantedAuthorities

    @property
    def listener(self) -> LoginListener: ...

    @property
    def credential(self) -> Credential | None: ...

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]: ...

    def receive(self, data: bytes) -> None: ...

    def data_received(self, data: bytes) -> None: ...

    def await_login(self) -> None: ...

    def turn_away(self) -> None: ...

    def logged_in(
        self, identity: Identity, held: GrantedAuthorities, rest: bytes
    ) -> None: ...

    async def open(self, said: Open) -> None: ...

    def force(self, description: str) -> None: ...

    def finish(self, *, lost: bool) -> None: ...

    def take_leave(self, endpoint: Endpoint) -> None: ...

    def leave_endpoint(self, endpoint: Endpoint, *, closed: bool) -> None: ...

    def withdraw(self, endpoint: Endpoint) -> None: ...
