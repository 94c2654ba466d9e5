"""One message: read it, and explain why it is not delivered."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.models import Message
from broker.monitoring import explain
from broker.monitoring.dead_letters import NEWEST
from broker.monitoring.numbers import copies_of
from broker.queueing import browse
from broker.security import authorities
from broker.security.redaction import Veil
from console.edges import masking
from console.edges.numbers import numbered
from console.edges.rest.numbers import Numbered
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.messages.api.schemas import FullMessage
from console.messages.detail import story_of
from console.messages.documents import message_document
from console.messages.rights import require as require_story
from console.messages.timeline import TimelineStep, failures

router = Router(tags=["messages"])


class Unmasking(Schema):
    """The reason for unmasking; needs the authority ``unmask``."""

    unmask: str = Field(default="", max_length=500, pattern=NO_NUL)


class Failure(Schema):
    """An attempt that a consumer ended with an error."""

    at: datetime
    queue: str
    attempt: int | None
    actor: str  # the handler or client
    error: str
    stack: str  # the stack trace, if a handler in Python raised the error


class OneMessage(FullMessage):
    """A copy of a message, the ids of all copies, and their failed attempts."""

    copies: list[int]  # the original first, the newest last
    failures: list[Failure]  # the oldest first


class Explanation(Schema):
    """One fact about a message on one queue."""

    queue: str  # empty after the queue is deleted
    code: str  # stable, and safe to match on
    sentence: str
    remedy: str  # what to do
    details: dict[str, Any]  # times, users and numbers, by name


class Explanations(Numbered):
    """Why a message is not delivered; on each queue, the first obstacle first."""

    explanations: list[Explanation]


@router.get(
    "/messages/{int:message_id}",
    response={200: OneMessage, **REFUSED},
    tags=["queues"],
    summary="A message",
)
def read_message(
    request: HttpRequest, message_id: Path[int], why: Query[Unmasking]
) -> dict[str, Any]:
    """The message with its properties and body, for callers who may browse a queue that
    it is or was on; also after it has ended, during its retention. Redaction rules mask
    parts of it; a caller with the authority ``unmask`` gives a reason to see them.

    A dead letter, a resubmit, a move and a repair each make a copy with an id of its
    own. The path takes the id of any copy and returns that copy; ``number`` is the same
    for all, and ``copies`` has all ids.
    """
    require(request, "broker.browse_queue")
    story = story_of(message_id) if message_id <= NEWEST else None
    stored = Message.objects.filter(pk=message_id) if story else None
    row = None if stored is None else stored.first()
    if story is None or row is None:
        raise Http404(f"message {message_id}")
    require_story(request, "browse", story)
    entry = browse.as_delivery(
        row,
        queue_id=0,
        backout_count=story.backout_count,
        priority=row.priority,
        expires_at=row.expires_at,
        pos=0,
    )
    veil = masking.veil_for(request.user, message_id, why.unmask)
    (found,) = numbered([message_document(entry, veil)])
    return found | {
        "copies": sorted(copies_of([message_id])[message_id]),
        "failures": [failure(one, veil) for one in failures(story.lives)],
    }


def failure(step: TimelineStep, veil: Veil) -> dict[str, Any]:
    plain = ("at", "attempt", "actor", "error")
    return {name: getattr(step, name) for name in plain} | {
        "queue": step.road.queue,
        "stack": veil.text(step.stack),
    }


@router.get(
    "/messages/{int:message_id}/explain",
    response={200: Explanations, **REFUSED},
    summary="Why a message is not being delivered",
)
def explain_message(request: HttpRequest, message_id: Path[int]) -> dict[str, Any]:
    """Why a message is not delivered, on the queues that the caller may browse; or how
    it ended.
    """
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
        queues = {one.queue or "#" for one in found}
        known = {one for one in queues if held.on("inquire", one)}
        lacks: authorities.Authority = "browse" if known else "inquire"
        raise authorities.refusal(request.user, lacks, min(known or queues))
    (told_of,) = numbered([{"message_id": message_id, "explanations": seen}])
    return told_of
