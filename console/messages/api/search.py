"""Searching messages: find, count and export."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Query, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from broker.monitoring import search as finding
from broker.monitoring import visible_search
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.messages import export, search_results
from console.messages.api.schemas import FoundMessage

router = Router(tags=["messages"])


FILES = {one: {"schema": {"type": "string"}} for one in export.TYPES.values()}
CURSOR = r"^(?:[0-9]{1,19}\.[0-9]{1,10})?$"


class MessageFilters(Schema):
    """Filters for messages; all must match."""

    f: list[str] = Field(default=[], max_length=32)


class PageQuery(MessageFilters):
    """Which messages, and the size of the page."""

    after: str = Field(default="", pattern=CURSOR)
    limit: int = Field(default=50, ge=1, le=200)


class FileQuery(MessageFilters):
    """The file format, and whether bodies and properties are included."""

    format: Literal["ndjson", "csv"] = "ndjson"
    bodies: bool = False
    # the reason for unmasking
    unmask: str = Field(default="", max_length=500, pattern=NO_NUL)


class FoundMessages(Schema):
    """A page of the search results; the next page begins after ``next``."""

    filter: str  # the filter in its normal form
    messages: list[FoundMessage]
    next: str | None
    looked_at: int  # messages examined for this page
    is_limited: bool  # the search limit was reached; there may be more


class Counted(Schema):
    """The number of matching messages."""

    filter: str  # the filter in its normal form
    messages: int
    is_exact: bool  # false: at least this number of messages matches
    looked_at: int


@router.get(
    "/messages", response={200: FoundMessages, **REFUSED}, summary="Find messages"
)
def find_messages(request: HttpRequest, wanted: Query[PageQuery]) -> dict[str, Any]:
    """Messages that match a filter such as ``state:dead queue:orders* h.tenant:t7``, on
    queues that the caller may inquire, the newest first. One page examines a limited
    number of messages; if that limit is reached first, ``is_limited`` is true and
    ``next`` continues. Filters on bodies or application properties need the authority
    ``browse``.
    """
    require(request, "broker.view_queue")
    search = visible_search.search(request.user, wanted.f)
    try:
        page = finding.find(
            search.filter,
            within=search.within,
            after=wanted.after,
            limit=wanted.limit,
            effort=search_results.SEARCH,
        )
    except ValueError as error:
        where = ("query", "after")
        raise ValidationError([{"loc": where, "msg": f"no cursor: {error}"}]) from error
    return {
        "filter": str(search.filter),
        "messages": [search.facts_of(one) for one in page.rows],
        "next": page.after or None,
        "looked_at": page.looked_at,
        "is_limited": page.is_limited,
    }


@router.get(
    "/messages/count", response={200: Counted, **REFUSED}, summary="Count messages"
)
def count_messages(
    request: HttpRequest, wanted: Query[MessageFilters]
) -> dict[str, Any]:
    """The number of messages that match; counts up to a thousand."""
    require(request, "broker.view_queue")
    search = visible_search.search(request.user, wanted.f)
    counted = finding.count(search.filter, within=search.within)
    return {
        "filter": str(search.filter),
        "messages": counted.messages,
        "is_exact": counted.is_exact,
        "looked_at": counted.looked_at,
    }


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
