"""Messages: why one is not being delivered."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest
from ninja import Path, Router, Schema

from broker import authorities, explain
from broker.triage import NEWEST
from console.api.problems import REFUSED, require

router = Router(tags=["messages"])


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
    "/messages/{int:message_id}/explain",
    response={200: Explanations, **REFUSED},
    summary="Why a message is not being delivered",
)
def explain_message(request: HttpRequest, message_id: Path[int]) -> dict[str, Any]:
    """What stands between a message and its next delivery, on the queues that one may
    browse; or how it ended."""
    require(request, "broker.view_queue")
    found = explain.explain(message_id) if message_id <= NEWEST else []
    if not found:
        raise Http404(f"message {message_id}")
    held = authorities.held_by(request.user)
    seen = [
        one
        for one in found
        if held.everywhere("browse") or held.on("browse", one.queue)
    ]
    if not seen:
        queue = min(one.queue for one in found) or "#"
        raise authorities.refusal(request.user, "browse", queue)
    return {"message_id": message_id, "explanations": seen}
