"""Orders for connections of clients, for all doors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker.acts.connections import CloseConnection, CloseEndpoint
from broker.models import ClientConnection, ClientEndpoint
from tests.console.act_doors import Example
from tests.console.edges.wire import make_client, make_endpoint
from tests.make import make_queue

ABSENT = 987_654_321
WHY = {"reason": "it hangs"}


def make_both() -> Mapping[str, Any]:
    make_queue("orders")
    connection = make_client()
    endpoint = make_endpoint(connection, "orders")
    return {"connection": connection.pk, "endpoint": endpoint.pk, **WHY}


def make_one() -> Mapping[str, Any]:
    return {"connection": make_both()["connection"], **WHY}


EXAMPLES = {
    "close_connection": Example(
        CloseConnection,
        "console:close_connection",
        about=("connection",),
        make=make_one,
        absent={"connection": ABSENT, **WHY},
        missing="There is no connection",
        changes=(ClientConnection,),
    ),
    "close_endpoint": Example(
        CloseEndpoint,
        "console:close_endpoint",
        about=("connection", "endpoint"),
        make=make_both,
        absent={"connection": ABSENT, "endpoint": ABSENT, **WHY},
        missing="There is no connection",
        changes=(ClientEndpoint,),
    ),
}
