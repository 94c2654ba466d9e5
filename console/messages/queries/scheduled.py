"""Delayed and recurring messages, for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from django.utils import timezone

from broker.acts.declaring import Holds
from broker.errors.acts import InvalidRequest
from broker.monitoring import delayed
from broker.monitoring.numbers import public_numbers
from broker.security.authorities import Principal
from console.edges.queries import All, build_answer, declared_query, page_of
from console.messages import recurring_list, scheduled_list

VIEW = "broker.view_queue"


@dataclass(frozen=True, slots=True)
class ScheduledMessage:
    """A message that is delayed by its sender, or after a backout."""

    columns: ClassVar[Sequence[str]] = (
        *("message_id", "number", "queue", "due_at", "is_late", "is_redelivery"),
        *("attempt", "max_attempts"),
    )

    message_id: int
    number: int  # the number that all copies of the message share
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


@dataclass(frozen=True, slots=True)
class ScheduledMessages:
    """A page, the next due first; the next page begins after ``next``."""

    empty: ClassVar = "No message is delayed."

    messages: list[ScheduledMessage]
    next: str | None


@dataclass(frozen=True, slots=True)
class ListScheduled:
    """Which messages, where the page begins, and its size."""

    queue: Annotated[str, Holds("Only those of this queue.", most=255)] = ""
    after: Annotated[str, Holds("The next of the page before.", most=100)] = ""
    limit: Annotated[int, Holds("The most messages to return.", least=1, most=500)] = 50


@declared_query(VIEW)
def list_scheduled(actor: Principal, request: ListScheduled) -> ScheduledMessages:
    """Delayed messages.

    Those of queues that the caller may inquire, or of one of them. An operation of the
    kind ``deliver`` makes them ready.
    """
    names = scheduled_list.visible_queues(actor, request.queue)
    try:
        found = delayed.scheduled(names, after=request.after, limit=request.limit + 1)
    except (ValueError, OverflowError):
        raise InvalidRequest((("after", "no cursor of this list"),)) from None
    part, following = page_of(found, request.limit, lambda one: one.cursor)
    numbers = public_numbers(one.message_id for one in part)
    return ScheduledMessages(
        [
            build_answer(
                ScheduledMessage,
                row.entry,
                number=numbers[row.entry.message_id],
                queue=row.queue,
                is_late=row.is_late,
                attempt=row.attempt,
                max_attempts=row.limit,
                later_delays_s=[one.total_seconds() for one in row.ahead],
            )
            for row in scheduled_list.rows_of(part, names, timezone.now())
        ],
        following,
    )


@dataclass(frozen=True, slots=True)
class RecurringState:
    """A recurring message."""

    columns: ClassVar[Sequence[str]] = (
        *("name", "address", "when", "is_enabled", "last_at", "next_at", "problem"),
    )

    name: str
    address: str
    when: str  # the schedule in words
    is_enabled: bool
    next_at: datetime | None
    last_at: datetime | None
    last_message_id: int | None
    problem: str  # why the last message was not put; empty: it was put


@dataclass(frozen=True, slots=True)
class RecurringMessages:
    """Recurring messages, by name."""

    empty: ClassVar = "There is no recurring message."

    recurring: list[RecurringState]


@declared_query(VIEW)
def list_recurring(actor: Principal, request: All) -> RecurringMessages:
    """Recurring messages.

    Those to addresses that the caller may inquire.
    """
    found = recurring_list.visible_recurring(actor)
    return RecurringMessages(
        [build_answer(RecurringState, one, when=one.words) for one in found]
    )
