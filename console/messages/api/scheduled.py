"""Delayed messages of all queues, and recurring messages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from broker.acts.recurring import put_recurring_message
from broker.models import RecurringMessage
from broker.monitoring import delayed
from console.edges.numbers import numbered
from console.edges.rest.acts import serve
from console.edges.rest.numbers import Numbered
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.messages import recurring_list, scheduled_list
from console.messages.scheduled_list import ScheduledRow

router = Router(tags=["scheduled"])


class ScheduledQuery(Schema):
    """Which messages, where the page begins, and its size."""

    queue: str = Field(default="", max_length=255, pattern=NO_NUL)
    after: str = Field(default="", max_length=100, pattern=NO_NUL)
    limit: int = Field(default=50, ge=1, le=500)


class ScheduledMessage(Numbered):
    """A message that is delayed by its sender, or after a backout."""

    queue: str
    due_at: datetime
    is_late: bool  # it has been due for more than ten seconds
    is_redelivery: bool  # false: its sender delayed it
    attempt: int  # the number of the next attempt
    max_attempts: int | None  # null: no limit
    later_delays_s: list[float]  # delays after the next attempts, if each fails
    priority: int
    backout_count: int
    put_at: datetime
    expires_at: datetime | None
    content_type: str
    subject: str | None
    size_bytes: int


class ScheduledMessages(Schema):
    """A page, the next due first; the next page begins after ``next``."""

    messages: list[ScheduledMessage]
    next: str | None


class RecurringState(Schema):
    """A recurring message."""

    name: str
    address: str
    when: str  # in words
    is_enabled: bool
    next_at: datetime | None
    last_at: datetime | None
    last_message_id: int | None
    problem: str  # why the last one was not put; empty: it was


class RecurringMessages(Schema):
    """Recurring messages, by name."""

    recurring: list[RecurringState]


@router.get(
    "/scheduled",
    response={200: ScheduledMessages, **REFUSED},
    summary="Delayed messages",
)
def list_scheduled(request: HttpRequest, page: Query[ScheduledQuery]) -> dict[str, Any]:
    """Delayed messages of queues that the caller may inquire, or of one of them. An
    operation of the kind ``deliver`` makes them ready.
    """
    require(request, "broker.view_queue")
    names = scheduled_list.visible_queues(request.user, page.queue)
    try:
        found = delayed.scheduled(names, after=page.after, limit=page.limit + 1)
    except (ValueError, OverflowError):
        where = {"loc": ["query", "after"], "msg": "no cursor of this list"}
        raise ValidationError([where]) from None
    part = found[: page.limit]
    rows = scheduled_list.rows_of(part, names, timezone.now())
    return {
        "messages": numbered([scheduled_document(one) for one in rows]),
        "next": part[-1].cursor if len(found) > page.limit else None,
    }


@router.get(
    "/recurring-messages",
    response={200: RecurringMessages, **REFUSED},
    summary="Recurring messages",
)
def list_recurring(request: HttpRequest) -> dict[str, Any]:
    """Recurring messages to addresses that the caller may inquire."""
    require(request, "broker.view_queue")
    found = recurring_list.visible_recurring(request.user)
    return {"recurring": [recurring_document(one) for one in found]}


serve(
    router, "POST", "/recurring-messages/{queue:recurring}/put", put_recurring_message
)


def scheduled_document(row: ScheduledRow) -> dict[str, Any]:
    plain = (
        *("message_id", "due_at", "is_redelivery", "priority", "backout_count"),
        *("put_at", "expires_at", "content_type", "subject", "size_bytes"),
    )
    return {
        **{name: getattr(row.entry, name) for name in plain},
        "queue": row.queue,
        "is_late": row.is_late,
        "attempt": row.attempt,
        "max_attempts": row.limit,
        "later_delays_s": [one.total_seconds() for one in row.ahead],
    }


def recurring_document(one: RecurringMessage) -> dict[str, Any]:
    names = RecurringState.model_fields.keys() - {"when"}
    return {name: getattr(one, name) for name in names} | {"when": one.words}
