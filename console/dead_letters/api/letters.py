"""Dead letters, as a list."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from broker.acts.operations.message_sets import DeadLetters, select_letters
from broker.models import DeadLetter
from broker.monitoring import dead_letters
from broker.monitoring.dead_letters import Letter
from console.edges.numbers import numbered
from console.edges.rest.numbers import Numbered
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.edges.rest.requests import RequestBody
from console.messages.dead_letter_query import names_for

router = Router(tags=["dead letters"])

VIEW = "broker.view_queue"


class LettersPage(RequestBody):
    """Which dead letters, where the page begins (descending), and its size. An empty
    filter does not filter.
    """

    fingerprint: str | None = Field(default=None, pattern="^[0-9a-f]{12}$")
    origin_queue: str | None = Field(default=None, max_length=255, pattern=NO_NUL)
    queue: str | None = Field(default=None, max_length=255, pattern=NO_NUL)
    cause: DeadLetter.Cause | None = None
    before: int = Field(default=dead_letters.NEWEST, ge=1, le=dead_letters.NEWEST)
    limit: int = Field(default=50, ge=1, le=500)


class LetterState(Numbered):
    """One dead letter."""

    queue: str  # the queue that the dead letter is on
    cause: str
    error: str
    fingerprint: str
    origin_address: str
    origin_queue: str
    origin_id: int  # the message that the dead letter is a copy of
    backout_count: int
    resubmit_count: int
    died_at: datetime
    content_type: str
    size_bytes: int
    reason: int | None


class Letters(Schema):
    """A page of dead letters, the newest first; the next page is before ``next``."""

    letters: list[LetterState]
    next: int | None


@router.get("/dead-letters", response={200: Letters, **REFUSED}, summary="Dead letters")
def list_letters(request: HttpRequest, page: Query[LettersPage]) -> dict[str, Any]:
    """Dead letters on queues that the caller may inquire."""
    require(request, VIEW)
    names = names_for(request.user)
    which = DeadLetters(page.fingerprint, page.origin_queue, page.queue, page.cause)
    wanted = select_letters(which, names)
    rows = dead_letters.letters(wanted, before=page.before, limit=page.limit + 1)
    part = rows[: page.limit]
    return {
        "letters": numbered([letter_document(one, names) for one in part]),
        "next": part[-1].message_id if len(rows) > page.limit else None,
    }


def letter_document(one: Letter, names: dict[int, str]) -> dict[str, Any]:
    plain = set(LetterState.model_fields) - {"queue", "number"}
    return {name: getattr(one, name) for name in plain} | {"queue": names[one.queue_id]}
