"""Connections, units of work and ConnectionConsumers over REST."""

from __future__ import annotations

from ninja import Router

from broker.acts.connections import close_connection, close_endpoint
from broker.acts.units_of_work import (
    back_out_prepared_unit,
    back_out_unit_of_work,
    commit_prepared_unit,
)
from console.consumers.queries.connections import list_connections, read_connection
from console.consumers.queries.consumers import list_consumers
from console.consumers.queries.units_of_work import (
    list_prepared_units,
    list_units_of_work,
    read_unit_of_work,
)
from console.edges.rest.acts import serve
from console.edges.rest.queries import serve_query

connections = Router(tags=["connections"])
CONNECTION = "/connections/{int:connection}"
serve_query(connections, "/connections", list_connections)
serve_query(connections, CONNECTION, read_connection)
serve(connections, "POST", f"{CONNECTION}/close", close_connection)
serve(
    connections,
    "POST",
    f"{CONNECTION}/endpoints/{{int:endpoint}}/close",
    close_endpoint,
)

units_of_work = Router(tags=["units of work"])
UNIT, PREPARED = "/units-of-work/{int:uow}", "/prepared/{int:uow}"
serve_query(units_of_work, "/units-of-work", list_units_of_work)
serve_query(units_of_work, UNIT, read_unit_of_work)
serve(units_of_work, "POST", f"{UNIT}/back-out", back_out_unit_of_work)
serve_query(units_of_work, "/prepared", list_prepared_units)
serve(units_of_work, "POST", f"{PREPARED}/commit", commit_prepared_unit)
serve(units_of_work, "POST", f"{PREPARED}/back-out", back_out_prepared_unit)

consumers = Router(tags=["consumers"])
serve_query(consumers, "/consumers", list_consumers)
