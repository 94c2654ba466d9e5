"""``backout connection``: clients of the listener."""

from __future__ import annotations

from typing import Annotated, Any

from django.core.management.base import CommandError
from typer import Argument, Option

from broker.monitoring import connections as clients
from broker.monitoring.connections import ClientQuery, Connected
from broker.security.authorities import Principal
from console.edges import people
from console.edges.options import Json, Limit, Reason, User
from console.edges.people import REFUSED
from console.queues.connections import CLOSE

Number = Annotated[int, Argument(help="Its number.", min=1, max=2**62)]
Text = Annotated[str, Option(help="Part of the name of a client, user, host or queue.")]
End = Annotated[int, Option("--endpoint", help="Only this endpoint of it.", min=0)]
GONE = "Connection {} has ended, or there is none that you may see."


def list_all(
    self: Any,
    *,
    text: Text = "",
    limit: Limit = 50,
    user: User = None,
    json: Json = False,
) -> None:
    """List clients, the longest connected first."""
    person = people.acting(user)
    people.require(person, "broker.view_queue")
    found = clients.connections(person, ClientQuery(text=text.strip(), limit=limit))
    rows = [row_of(one) for one in found]
    self.tell_rows("connections", rows, as_json=json, empty="Nobody is connected.")


def close(  # the subcommand's options
    self: Any,
    number: Number,
    *,
    endpoint: End = 0,
    reason: Reason = "",
    user: User = None,
    json: Json = False,
) -> None:
    """Ask the listener to close a connection, or one endpoint of it."""
    person = people.acting(user)
    people.require(person, CLOSE)
    since = (
        close_endpoint(person, number, endpoint, reason)
        if endpoint
        else close_connection(person, number, reason)
    )
    if since is None:
        raise CommandError(GONE.format(number), returncode=REFUSED)
    told = {"id": number, "endpoint": endpoint or None, "close_requested_at": since}
    self.tell(told, "The listener closes it within a second.", as_json=json)


def close_connection(person: Principal, number: int, reason: str) -> Any:
    wanted = ClientQuery(ids=[number])
    if not clients.connections(person, wanted):
        return None
    return clients.close_connection(number, person, reason=reason)


def close_endpoint(person: Principal, number: int, endpoint: int, reason: str) -> Any:
    wanted = ClientQuery(ids=[number], endpoints_after=endpoint - 1, endpoints=1)
    seen = [
        one for found in clients.connections(person, wanted) for one in found.endpoints
    ]
    if endpoint not in {one.pk for one in seen}:
        return None
    return clients.close_endpoint(endpoint, person, reason=reason)


def row_of(one: Connected) -> dict[str, Any]:
    connection = one.connection
    return {
        "id": connection.pk,
        "container_id": connection.container_id,
        "user": connection.user.get_username() if connection.user else "",
        "host": connection.host,
        "opened_at": connection.opened_at,
        "close_requested_at": connection.close_requested_at,
        "endpoints": [
            f"{end.pk}: {end.kind} {end.queue.name if end.queue else end.node}".strip()
            for end in one.endpoints
        ],
    }
