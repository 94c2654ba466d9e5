"""Operations on many messages: state and items."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Router

from broker.acts.operations.ledgers import Ledger
from broker.models import Operation
from console.edges.rest.problems import require
from console.edges.rest.queries import serve_query
from console.operations import queries
from console.operations.queries import VIEW, read_items, read_operation

router = Router(tags=["operations"])
ONE = "/operations/{int:operation_id}"
serve_query(router, ONE, read_operation, operation_id="operation")
serve_query(router, f"{ONE}/items", read_items, operation_id="operation")


def visible_operation(
    request: HttpRequest, operation_id: int
) -> tuple[Operation, Ledger]:
    """An operation that the caller may see, as for the pages."""
    require(request, VIEW)
    return queries.visible_operation(request.user, operation_id)
