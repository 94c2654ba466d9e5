"""Searching messages over REST: find, count and export."""

from __future__ import annotations

from typing import Literal

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from broker.monitoring import visible_search
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.edges.rest.queries import serve_query
from console.messages import export
from console.messages.queries.finding import count_messages, find_messages

router = Router(tags=["messages"])


FILES = {one: {"schema": {"type": "string"}} for one in export.TYPES.values()}


class MessageFilters(Schema):
    """Filters for messages; all must match."""

    f: list[str] = Field(default=[], max_length=32)


class FileQuery(MessageFilters):
    """The file format, and whether bodies and properties are included."""

    format: Literal["ndjson", "csv"] = "ndjson"
    bodies: bool = False
    # the reason for unmasking
    unmask: str = Field(default="", max_length=500, pattern=NO_NUL)


serve_query(router, "/messages", find_messages)
serve_query(router, "/messages/count", count_messages)


@router.get(
    "/messages/export",
    response={200: str, **REFUSED},
    openapi_extra={"responses": {200: {"content": FILES}}},
    summary="Export messages",
)
def export_messages(
    request: HttpRequest, wanted: Query[FileQuery]
) -> StreamingHttpResponse:
    """All matching messages, as one JSON object a line or as CSV, streamed. With
    ``bodies``, in JSON only, it includes bodies and properties of messages on queues
    that the caller may browse. Bodies above 1 MiB are left out, and redaction rules
    mask. A caller with the authority ``unmask`` gives a reason to see masked parts.
    """
    require(request, "broker.view_queue")
    search = visible_search.search(request.user, wanted.f, for_payloads=wanted.bodies)
    return export.export(
        request, search, wanted.format, bodies=wanted.bodies, why=wanted.unmask
    )
