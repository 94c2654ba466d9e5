"""Acts on connections of clients: close one, or one of its endpoints."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.utils.translation import gettext_noop

from broker.acts.declaring import LONGEST_REASON, Holds, declared
from broker.acts.objects import find_endpoint
from broker.errors.queues import NoSuchConnection
from broker.models import Act
from broker.monitoring import connections
from broker.security.authorities import Principal

CLOSE = "broker.close_clientconnection"

Number = Annotated[
    int, Holds(gettext_noop("The number of the connection."), names="connection")
]
Why = Annotated[
    str, Holds(gettext_noop("Why, for the audit."), least=1, most=LONGEST_REASON)
]


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """The connection, and why."""

    connection: Number
    reason: Why = ""


@dataclass(frozen=True, slots=True)
class CloseRequested:
    """When the close was first requested; the listener closes within a second."""

    close_requested_at: datetime

    def __str__(self) -> str:
        return "The listener closes it within a second."


@declared(permission=CLOSE, recorded_as=Act.CLOSE_CONNECTION)
def close_connection(actor: Principal, request: CloseConnection) -> CloseRequested:
    """Close the connection of a client.

    Its listener closes it within a second. It takes the authority `set` on each queue
    that the client uses, and a reason.
    """
    number = request.connection
    since = connections.close_connection(number, actor, reason=request.reason)
    if since is None:
        raise NoSuchConnection("connection", number)
    return CloseRequested(since)


@dataclass(frozen=True, slots=True)
class CloseEndpoint:
    """The connection, its endpoint, and why."""

    connection: Number
    endpoint: Annotated[
        int, Holds(gettext_noop("The number of the endpoint."), names="endpoint")
    ]
    reason: Why = ""


@declared(permission=CLOSE, recorded_as=Act.CLOSE_ENDPOINT)
def close_endpoint(actor: Principal, request: CloseEndpoint) -> CloseRequested:
    """Close one endpoint of a client.

    Its listener closes it within a second, and the client's other endpoints stay open.
    It takes the authority `set` on the endpoint's queue, and a reason.
    """
    number = request.endpoint
    if find_endpoint(actor, number).connection_id != request.connection:
        raise NoSuchConnection("endpoint", number)
    since = connections.close_endpoint(number, actor, reason=request.reason)
    if since is None:
        raise NoSuchConnection("endpoint", number)
    return CloseRequested(since)
