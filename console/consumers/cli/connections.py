"""``backout connection``: clients of the listener."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from broker.monitoring import connections as clients
from broker.monitoring.connections import ClientQuery, Connected
from console.edges.commands import actors
from console.edges.commands.options import Json, Limit, User

Text = Annotated[str, Option(help="Part of the name of a client, user, host or queue.")]


def list_all(
    self: Any,
    *,
    text: Text = "",
    limit: Limit = 50,
    user: User = None,
    json: Json = False,
) -> None:
    """List clients, the longest connected first."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    found = clients.connections(person, ClientQuery(text=text.strip(), limit=limit))
    rows = [row_of(one) for one in found]
    self.tell_rows("connections", rows, as_json=json, empty="Nobody is connected.")


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
