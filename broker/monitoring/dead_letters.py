"""List and count dead letters: in groups with the same error, or each letter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from broker import sql


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of dead letters. A field that is None does not restrict it."""

    fingerprint: str | None = None
    origin_queue: str | None = None
    cause: str | None = None
    queue_id: int | None = None  # queue that has the dead letters
    within: tuple[int, ...] | None = None  # ids of the queues to search

    def parameters(self) -> dict[str, Any]:
        return {
            "fingerprint": self.fingerprint,
            "origin_queue": self.origin_queue,
            "cause": self.cause,
            "queue_id": self.queue_id,
            "within": None if self.within is None else list(self.within),
        }


class DeadLetterCount(NamedTuple):  # a tuple, as thousands are read from a cache
    """Number of dead letters on a queue with the same error and the same origin."""

    fingerprint: str
    pattern: str
    cause: str
    origin_queue: str
    queue_id: int
    messages: int
    first_died_at: datetime
    last_died_at: datetime
    most_resubmits: int
    newest_id: int
    reasons: list[int]  # reason codes of IBM MQ

    @property
    def selection(self) -> Selection:
        return Selection(self.fingerprint, self.origin_queue, self.cause, self.queue_id)


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter: its cause, error, origin and counts."""

    message_id: int
    queue_id: int
    cause: str
    error: str
    fingerprint: str
    pattern: str
    origin_address: str
    origin_queue: str
    origin_id: int
    backout_count: int
    resubmit_count: int
    died_at: datetime
    content_type: str
    size_bytes: int
    reason: int | None  # reason code of IBM MQ


@dataclass(frozen=True, slots=True)
class Growing:
    """Recent dead letters with the same error."""

    fingerprint: str
    pattern: str
    origin_queue: str
    queue_id: int
    messages: int  # number of letters among the newest letters that were read
    first_died_at: datetime
    last_died_at: datetime


# Fingerprint, queue id, number of hours ago, number of letters.
Deaths = tuple[str, int, int, int]
NEWEST = 2**63 - 1
LATELY = timedelta(hours=1)
LOOKED_AT = 1000  # number of the newest dead letters that are read
WALKED = 200  # number of letters that are looked up one by one


def groups(fingerprint: str | None = None) -> list[DeadLetterCount]:
    """The dead letters that are on a queue now, the largest group first.

    Args:
        fingerprint: fingerprint of an error; only its letters are read. None: all
            letters. The time grows with the number of letters that are read.
    """
    if fingerprint is None:
        return sql.fetch("dead_letter_groups", DeadLetterCount)
    return sql.fetch("dead_letter_group", DeadLetterCount, fingerprint=fingerprint)


def deaths(hours: int, *, now: datetime | None = None) -> list[Deaths]:
    """How many letters died in each of the last hours, of all errors and queues,
    including those that have left their queue. Cost: all dead letters.

    Args:
        hours: the number of hours, up to now.
        now: the current time; the database's clock when not given.
    """
    return sql.run("deaths_by_hour", {"hours": hours, "now": now})


def growing(
    within: Iterable[int],
    *,
    limit: int = 5,
    now: datetime | None = None,
    span: timedelta = LATELY,
) -> list[Growing]:
    """The groups that grew lately, the one that grew most first.

    Only the newest dead letters are read, so the cost does not grow with their number.

    Args:
        within: ids of the queues to search.
        limit: the largest number of groups.
        now: the current time; the database's clock when not given.
        span: the period up to now; by default the last hour.
    """
    return sql.fetch(
        "recent_deaths",
        Growing,
        within=list(within),
        scan=LOOKED_AT,
        span=span,
        limit=limit,
        now=now,
    )


def letters(
    selection: Selection, *, before: int = NEWEST, limit: int = 50
) -> list[Letter]:
    """One page of dead letters, the newest first, with ids below ``before``."""
    return sql.fetch(
        "dead_letters",
        Letter,
        **selection.parameters(),
        before=before,
        scan=max(2 * limit, WALKED),
        limit=limit,
    )
