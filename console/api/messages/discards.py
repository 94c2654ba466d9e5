"""The discard bin: what is in it, and restoring from it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from broker.security import authorities
from broker.settlement import discards as bin_of
from broker.settlement.discards import Binned, Restored
from console.api.bodies import Numbered
from console.edges.problems import NO_NUL, REFUSED, require
from console.edges.requests import RequestBody
from console.messages import discard_bin
from console.messages.dead_letter_query import LARGEST
from console.messages.documents import numbered

router = Router(tags=["discard bin"])

Group = Field(default=None, pattern="^[0-9a-f]{12}$")


class DiscardsQuery(Schema):
    """Which messages, where the page begins, and its size."""

    queue: str | None = Field(default=None, max_length=255, pattern=NO_NUL)
    # IBM MQ's code; 0: those without one
    reason: int | None = Field(default=None, ge=0, le=LARGEST)
    fingerprint: str | None = Group  # of a group of dead letters
    before: str = Field(default="", max_length=100, pattern=NO_NUL)
    limit: int = Field(default=50, ge=1, le=500)


class DiscardedMessage(Numbered):
    """A message in the discard bin."""

    queue: str  # where it was discarded
    discarded_at: datetime
    keep_until: datetime
    reason: int | None  # IBM MQ's code
    why: str
    backout_count: int
    expires_at: datetime | None
    content_type: str
    size_bytes: int
    obstacle: str  # why it cannot be restored; empty: it can


class Discards(Schema):
    """A page of the bin, the newest first; the next page is before ``next``."""

    discards: list[DiscardedMessage]
    next: str | None


class Restoration(RequestBody):
    """The messages to restore: by id, or all of a group of dead letters."""

    messages: list[int] | None = Field(default=None, min_length=1, max_length=500)
    fingerprint: str | None = Group  # at most 500 messages of the group, the newest
    # only those that were discarded from this queue
    queue: str | None = Field(default=None, max_length=255, pattern=NO_NUL)
    reason: str = Field(default="", max_length=500, pattern=NO_NUL)


class RestoredMessage(Schema):
    """What came of one message."""

    message_id: int
    code: str  # empty: it is back on its queue; otherwise the code of the error
    detail: str  # the error, for people


class RestoredMessages(Schema):
    """What came of each message, by queue and message."""

    restored: int
    messages: list[RestoredMessage]


@router.get("/discards", response={200: Discards, **REFUSED}, summary="The discard bin")
def list_discards(request: HttpRequest, page: Query[DiscardsQuery]) -> dict[str, Any]:
    """Discarded messages of queues that the caller may inquire."""
    require(request, "broker.view_queue")
    try:
        before = discard_bin.position(page.before)
    except (ValueError, OverflowError):
        where = {"loc": ["query", "before"], "msg": "no cursor of this list"}
        raise ValidationError([where]) from None
    found = bin_of.discarded(
        queue=page.queue,
        reason=page.reason,
        fingerprint=page.fingerprint,
        within=discard_bin.visible_queues(authorities.held_by(request.user)),
        before=before,
        limit=page.limit + 1,
    )
    part, now = found[: page.limit], timezone.now()
    return {
        "discards": numbered([discarded_document(one, now) for one in part]),
        "next": discard_bin.cursor_of(part[-1]) if len(found) > page.limit else None,
    }


@router.post(
    "/discards/restore",
    response={200: RestoredMessages, **REFUSED},
    summary="Restore discarded messages",
)
def restore_discards(request: HttpRequest, wanted: Restoration) -> dict[str, Any]:
    """Puts each message back at the head of its queue; needs the authority ``put``.
    Those that cannot be restored stay in the bin, and the response has the reason.
    """
    require(request, discard_bin.RESTORE)
    if (wanted.messages is None) == (wanted.fingerprint is None):
        why = "Give either messages or a fingerprint."
        raise ValidationError([{"loc": ["body", "wanted"], "msg": why}])
    outcomes = discard_bin.restore_chosen(
        request.user,
        message_ids=wanted.messages,
        fingerprint=wanted.fingerprint,
        queue=wanted.queue,
        actor=authorities.name_of(request.user),
        why=wanted.reason.strip(),
    )
    return {
        "restored": sum(one.error is None for one in outcomes),
        "messages": [outcome(one) for one in outcomes],
    }


def discarded_document(one: Binned, now: datetime) -> dict[str, Any]:
    plain = (
        *("message_id", "queue", "discarded_at", "keep_until", "reason", "why"),
        *("backout_count", "expires_at", "content_type", "size_bytes"),
    )
    return {name: getattr(one, name) for name in plain} | {
        "obstacle": discard_bin.obstacle_of(one, now)
    }


def outcome(one: Restored) -> dict[str, Any]:
    return {
        "message_id": one.message_id,
        "code": one.error.code if one.error else "",
        "detail": str(one.error) if one.error else "",
    }
