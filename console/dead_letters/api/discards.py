"""The discard bin: what is in it, and restoring from it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from broker.acts.discards import restore_messages
from broker.security import authorities
from broker.settlement import discards as bin_of
from broker.settlement.discards import Binned
from console.dead_letters import discard_bin
from console.edges.numbers import numbered
from console.edges.rest.acts import serve
from console.edges.rest.numbers import Numbered
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.messages.dead_letter_query import LARGEST

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
        within=bin_of.visible_queues(authorities.held_by(request.user)),
        before=before,
        limit=page.limit + 1,
    )
    part, now = found[: page.limit], timezone.now()
    return {
        "discards": numbered([discarded_document(one, now) for one in part]),
        "next": discard_bin.cursor_of(part[-1]) if len(found) > page.limit else None,
    }


serve(router, "POST", "/discards/restore", restore_messages)


def discarded_document(one: Binned, now: datetime) -> dict[str, Any]:
    plain = (
        *("message_id", "queue", "discarded_at", "keep_until", "reason", "why"),
        *("backout_count", "expires_at", "content_type", "size_bytes"),
    )
    return {name: getattr(one, name) for name in plain} | {
        "obstacle": discard_bin.obstacle_of(one, now)
    }
