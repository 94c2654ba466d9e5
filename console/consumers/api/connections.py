"""Connections of AMQP clients: list them, and close one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.acts.connections import close_connection, close_endpoint
from broker.models import ClientEndpoint
from broker.monitoring import connections as clients
from broker.monitoring.connections import ClientQuery, Connected
from console.consumers.connections import LONGEST_TEXT, find_connection
from console.edges.rest.acts import serve
from console.edges.rest.problems import NO_NUL, REFUSED, require

router = Router(tags=["connections"])

ENDPOINTS = 50  # endpoints shown of each connection in the list
MOST_ENDPOINTS = 5000  # endpoints shown of a connection that is read alone


class EndpointState(Schema):
    """A link endpoint of a client, at most a second old."""

    id: int
    session: int
    name: str
    kind: str  # puts, gets, browses, transactions
    node: str  # empty for anonymous senders and transactions
    queue: str | None
    is_exclusive: bool
    credit: int
    unsettled: int
    messages: int
    opened_at: datetime
    close_requested_at: datetime | None


class ConnectionState(Schema):
    """A client's connection and its endpoints."""

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


class Connections(Schema):
    """A page of connections; the next page begins after ``next``."""

    connections: list[ConnectionState]
    next: int | None


class ConnectionQuery(Schema):
    """Which connections, and the size of the page."""

    text: str = Field(default="", max_length=LONGEST_TEXT, pattern=NO_NUL)
    after: int = Field(default=0, ge=0, lt=2**63)
    limit: int = Field(default=50, ge=1, le=200)


@router.get(
    "/connections",
    response={200: Connections, **REFUSED},
    summary="The clients that are connected",
)
def list_connections(
    request: HttpRequest, page: Query[ConnectionQuery]
) -> dict[str, Any]:
    """Connections that use a queue the caller may inquire, the longest connected first.
    ``text`` matches part of a client's name, user, host or endpoint.
    """
    require(request, "broker.view_queue")
    wanted = ClientQuery(
        text=page.text.strip(),
        after=page.after,
        limit=page.limit + 1,
        endpoints=ENDPOINTS,
    )
    found = clients.connections(request.user, wanted)
    part = found[: page.limit]
    return {
        "connections": [connection_document(one) for one in part],
        "next": part[-1].connection.pk if len(found) > page.limit else None,
    }


@router.get(
    "/connections/{int:connection_id}",
    response={200: ConnectionState, **REFUSED},
    summary="A client that is connected",
)
def read_connection(request: HttpRequest, connection_id: Path[int]) -> dict[str, Any]:
    """One connection with its endpoints on queues the caller may inquire."""
    require(request, "broker.view_queue")
    row = find_connection(request, connection_id, limit=MOST_ENDPOINTS)
    if row is None:
        raise Http404(f"connection {connection_id}")
    return connection_document(row.client)


serve(
    router,
    "POST",
    "/connections/{int:connection_id}/close",
    close_connection,
    connection_id="connection",
)
serve(
    router,
    "POST",
    "/connections/{int:connection_id}/endpoints/{int:endpoint_id}/close",
    close_endpoint,
    connection_id="connection",
    endpoint_id="endpoint",
)


def connection_document(one: Connected) -> dict[str, Any]:
    connection = one.connection
    asker = connection.close_requested_by
    plain = (
        *("id", "container_id", "mechanism", "host", "is_encrypted", "product"),
        *("opened_at", "close_requested_at"),
    )
    return {
        **{name: getattr(connection, name) for name in plain},
        "user": connection.user.get_username() if connection.user else None,
        "credential": connection.credential.name if connection.credential else None,
        "close_requested_by": asker.get_username() if asker else None,
        "sessions": one.used.sessions,
        "endpoints": [endpoint_document(endpoint) for endpoint in one.endpoints],
        "more_endpoints": one.used.endpoints - len(one.endpoints),
        "hidden_endpoints": one.used.hidden,
    }


def endpoint_document(one: ClientEndpoint) -> dict[str, Any]:
    plain = (
        *("id", "session", "name", "kind", "node", "is_exclusive", "credit"),
        *("unsettled", "messages", "opened_at", "close_requested_at"),
    )
    return {
        **{name: getattr(one, name) for name in plain},
        "queue": one.queue.name if one.queue else None,
    }
