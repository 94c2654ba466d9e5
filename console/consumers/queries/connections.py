"""Connections of clients, for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from broker.acts.declaring import Holds
from broker.errors.queues import NoSuchConnection
from broker.models import ClientEndpoint
from broker.monitoring import connections as clients
from broker.monitoring.connections import ClientQuery, Connected
from broker.security.authorities import Principal
from console.consumers.connections import LONGEST_TEXT
from console.edges.queries import (
    LARGEST,
    After,
    Limit,
    Number,
    build_answer,
    declared_query,
    page_of,
)

VIEW = "broker.view_queue"
ENDPOINTS = 50  # the most endpoints of each connection in a list
MOST_ENDPOINTS = 5000  # the most endpoints of a connection that is read alone


@dataclass(frozen=True, slots=True)
class EndpointState:
    """A link endpoint of a client, at most a second old."""

    columns: ClassVar[Sequence[str]] = (
        "id",
        "kind",
        "node",
        "credit",
        "unsettled",
        "busy_percent",
        "messages",
        "uncommitted",
    )

    id: int
    session: int
    name: str
    kind: str  # puts, gets, browses, transactions
    node: str  # empty for anonymous senders and transactions
    queue: str | None
    is_exclusive: bool
    credit: int
    unsettled: int
    # Share of the last minute in which it had an unsettled message; null: not known.
    busy_percent: int | None
    messages: int
    uncommitted: int  # messages that its open transactions send when they commit
    opened_at: datetime
    close_requested_at: datetime | None


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """A client's connection and its endpoints."""

    columns: ClassVar[Sequence[str]] = (
        *("id", "container_id", "user", "host", "product", "opened_at"),
        *("close_requested_at", "sessions"),
    )

    id: int
    container_id: str
    user: str | None
    credential: str | None
    mechanism: str
    host: str
    is_encrypted: bool
    product: str
    opened_at: datetime
    close_requested_at: datetime | None
    close_requested_by: str | None
    sessions: int
    endpoints: list[EndpointState]  # in a list of connections, the first 50 of each
    more_endpoints: int  # endpoints left out of a list
    hidden_endpoints: int  # endpoints on queues that the caller may not inquire

    def __str__(self) -> str:
        name = self.container_id or self.host
        return f"Connection {self.id} of {name} from {self.host}."


@dataclass(frozen=True, slots=True)
class Connections:
    """A page of connections; the next page begins after ``next``."""

    empty: ClassVar = "Nobody is connected."

    connections: list[ConnectionState]
    next: int | None


@dataclass(frozen=True, slots=True)
class ListConnections:
    """Which connections, and the size of the page."""

    text: Annotated[
        str,
        Holds("Part of the name of a client, user, host or queue.", most=LONGEST_TEXT),
    ] = ""
    after: After = 0
    limit: Limit = 50


@declared_query(VIEW)
def list_connections(actor: Principal, request: ListConnections) -> Connections:
    """The clients that are connected.

    Those that use a queue that the caller may inquire, the longest connected first.
    """
    wanted = ClientQuery(
        text=request.text.strip(),
        after=request.after,
        limit=request.limit + 1,
        endpoints=ENDPOINTS,
    )
    found = clients.connections(actor, wanted)
    part, following = page_of(found, request.limit, lambda one: one.connection.pk)
    return Connections(
        [connection_state(one) for one in part],
        following,
    )


@dataclass(frozen=True, slots=True)
class ReadConnection:
    """The connection."""

    connection: Number


@declared_query(VIEW)
def read_connection(actor: Principal, request: ReadConnection) -> ConnectionState:
    """A client that is connected.

    With its endpoints on queues that the caller may inquire.
    """
    ids = [request.connection] if request.connection <= LARGEST else []
    wanted = ClientQuery(ids=ids, endpoints=MOST_ENDPOINTS)
    found = clients.connections(actor, wanted)
    if not found:
        raise NoSuchConnection("connection", request.connection)
    return connection_state(found[0])


def connection_state(one: Connected) -> ConnectionState:
    row = one.connection
    asker = row.close_requested_by
    return build_answer(
        ConnectionState,
        row,
        user=row.user.get_username() if row.user else None,
        credential=row.credential.name if row.credential else None,
        close_requested_by=asker.get_username() if asker else None,
        sessions=one.used.sessions,
        endpoints=[endpoint_state(end) for end in one.endpoints],
        more_endpoints=one.used.endpoints - len(one.endpoints),
        hidden_endpoints=one.used.hidden,
    )


def endpoint_state(one: ClientEndpoint) -> EndpointState:
    queue = one.queue.name if one.queue else None
    return build_answer(EndpointState, one, queue=queue)
