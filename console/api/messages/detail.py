"""Messages: which there are, and why one is not being delivered."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.http import Http404, HttpRequest, StreamingHttpResponse
from ninja import Path, Query, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from broker.monitoring import explain
from broker.monitoring import search as finding
from broker.monitoring.dead_letters import NEWEST
from broker.security import authorities
from console.api.problems import NO_NUL, REFUSED, require
from console.messages import export, search_form, search_results

router = Router(tags=["messages"])


FILES = {one: {"schema": {"type": "string"}} for one in export.TYPES.values()}
CURSOR = r"^(?:[0-9]{1,19}\.[0-9]{1,10})?$"


class MessageFilters(Schema):
    """Which messages. Several filters have to be met together."""

    f: list[str] = Field(default=[], max_length=32)


class WantedPage(MessageFilters):
    """Which of them, and how many at most."""

    after: str = Field(default="", pattern=CURSOR)
    limit: int = Field(default=50, ge=1, le=200)


class WantedFile(MessageFilters):
    """As which file, and whether with bodies and properties."""

    format: Literal["ndjson", "csv"] = "ndjson"
    bodies: bool = False
    unmask: str = Field(default="", max_length=500, pattern=NO_NUL)  # why, to see all


class FoundMessage(Schema):
    """One message on one queue."""

    message_id: int
    queue: str
    state: str  # ready, delayed, in-flight, dead, discarded
    priority: int
    tries: int  # times backed out; of a dead letter, before it died
    until: datetime | None  # when its delay, its unit of work or its keeping ends
    expires_at: datetime | None
    put_at: datetime | None
    address: str | None
    content_type: str | None
    subject: str | None
    client_message_id: str | None
    correlation_id: str | None
    producer: str | None
    size_bytes: int | None
    cause: str | None  # this and the rest of dead letters only
    error: str | None
    fingerprint: str | None
    origin_queue: str | None
    resubmit_count: int | None
    died_at: datetime | None


class FoundMessages(Schema):
    """A page of what was found; the next begins after ``next``."""

    filter: str  # as it was understood
    messages: list[FoundMessage]
    next: str | None
    looked_at: int  # messages
    is_limited: bool  # it stopped before the page was full; there may be more


class Counted(Schema):
    """How many there are."""

    filter: str  # as it was understood
    messages: int
    is_exact: bool  # otherwise there are as many at least
    looked_at: int


class Explanation(Schema):
    """One thing that is true of a message on one queue."""

    queue: str  # empty once it is gone
    code: str  # stable, and safe to match on
    sentence: str
    remedy: str  # what to do
    details: dict[str, Any]  # moments, people and numbers, by name


class Explanations(Schema):
    """What stands in a message's way; on each queue first what must be solved first."""

    message_id: int
    explanations: list[Explanation]


@router.get(
    "/messages", response={200: FoundMessages, **REFUSED}, summary="Find messages"
)
def find_messages(request: HttpRequest, wanted: Query[WantedPage]) -> dict[str, Any]:
    """Those on queues which one may inquire that meet a filter, such as
    ``state:dead queue:orders* h.tenant:t7``, the newest first. A page looks at a
    bounded number of messages; if that did not fill it, ``is_limited`` is true and
    ``next`` goes on. To ask for bodies or properties of the application, one has to be
    allowed to browse."""
    require(request, "broker.view_queue")
    search = search_form.search(request.user, wanted.f)
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
        "messages": [search.told(one) for one in page.rows],
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
    """How many of those there are that one would find; up to a thousand."""
    require(request, "broker.view_queue")
    search = search_form.search(request.user, wanted.f)
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
    request: HttpRequest, wanted: Query[WantedFile]
) -> StreamingHttpResponse:
    """All of those that one would find, as one JSON object a line or as CSV, written
    while it is found. With ``bodies``, in JSON only, also bodies and properties of what
    lies on queues that one may browse; bodies above 1 MiB are left out, and what
    redaction rules hide is masked. Who has the authority ``unmask`` sees it by saying
    why."""
    require(request, "broker.view_queue")
    search = search_form.search(request.user, wanted.f, for_payloads=wanted.bodies)
    return export.export(
        request, search, wanted.format, bodies=wanted.bodies, why=wanted.unmask
    )


@router.get(
    "/messages/{int:message_id}/explain",
    response={200: Explanations, **REFUSED},
    summary="Why a message is not being delivered",
)
def explain_message(request: HttpRequest, message_id: Path[int]) -> dict[str, Any]:
    """What stands between a message and its next delivery, on the queues that one may
    browse; or how it ended."""
    require(request, "broker.view_queue")
    told = explain.explain(message_id) if message_id <= NEWEST else []
    if not told:
        raise Http404(f"message {message_id}")
    held = authorities.held_by(request.user)
    seen = [
        one for one in told if held.everywhere("browse") or held.on("browse", one.queue)
    ]
    if not seen:
        queues = {one.queue or "#" for one in told}
        known = {one for one in queues if held.on("inquire", one)}
        lacks: authorities.Authority = "browse" if known else "inquire"
        raise authorities.refusal(request.user, lacks, min(known or queues))
    return {"message_id": message_id, "explanations": seen}
