"""Dead letters as work to be done: in groups of one cause, and one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from broker import sql


@dataclass(frozen=True, slots=True)
class Selection:
    """Which dead letters are meant. What is None selects by nothing."""

    fingerprint: str | None = None
    origin_queue: str | None = None
    cause: str | None = None
    queue_id: int | None = None  # where they lie
    within: tuple[int, ...] | None = None  # the queues that are looked at, by id

    def parameters(self) -> dict[str, Any]:
        return {
            "fingerprint": self.fingerprint,
            "origin_queue": self.origin_queue,
            "cause": self.cause,
            "queue_id": self.queue_id,
            "within": None if self.within is None else list(self.within),
        }


@dataclass(frozen=True, slots=True)
class DeadLetterCount:
    """Dead letters with one error, from one queue, that lie on one queue."""

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
    reasons: list[int]  # IBM MQ's codes

    @property
    def selection(self) -> Selection:
        return Selection(self.fingerprint, self.origin_queue, self.cause, self.queue_id)


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter, with its story in short."""

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
    reason: int | None  # IBM MQ's code


@dataclass(frozen=True, slots=True)
class Growing:
    """Dead letters with one error that came lately."""

    fingerprint: str
    pattern: str
    origin_queue: str
    queue_id: int
    messages: int  # of those that were looked at
    first_died_at: datetime
    last_died_at: datetime


Deaths = tuple[str, int, int, int]  # fingerprint, queue, how many hours ago, letters
NEWEST = 2**63 - 1
LATELY = timedelta(hours=1)
LOOKED_AT = 1000  # of the newest dead letters
WALKED = 200  # letters that are looked up one by one


def groups(fingerprint: str | None = None) -> list[DeadLetterCount]:
    """The dead letters that lie on a queue now, the largest group first.

    Args:
        fingerprint: of an error, where only letters that died of it are meant. It costs
            what those are many; all groups cost what all dead letters are.
    """
    if fingerprint is None:
        return sql.fetch("dead_letter_groups", DeadLetterCount)
    return sql.fetch("dead_letter_group", DeadLetterCount, fingerprint=fingerprint)


def deaths(hours: int, *, now: datetime | None = None) -> list[Deaths]:
    """How many letters died in each of the last hours, of all errors and queues; also
    those that lie there no more. It costs what all dead letters are.

    Args:
        hours: up to now.
        now: when; the database's clock when not given.
    """
    return sql.run("deaths_by_hour", {"hours": hours, "now": now})


def growing(
    within: Iterable[int], *, limit: int = 5, now: datetime | None = None
) -> list[Growing]:
    """Which groups grew in the last hour, the one that grew most first.

    Only the newest dead letters are looked at, so that it costs the same however many
    there are.

    Args:
        within: the queues where they lie, by id.
        limit: groups at most.
        now: when; the database's clock when not given.
    """
    return sql.fetch(
        "recent_deaths",
        Growing,
        within=list(within),
        scan=LOOKED_AT,
        span=LATELY,
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
