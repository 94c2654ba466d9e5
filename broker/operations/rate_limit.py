"""How fast an operation may go: so many messages a second, by the database's clock.

A pace is kept by one moment, that until which everything allowed was sent. What was not
used is lost after a second, so that a worker that comes late does not make up for it in
one go.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from broker.errors.operations import InvalidPace

FASTEST = 100_000  # messages a second
SECOND = timedelta(seconds=1)


def check(pace: int | None) -> None:
    """Refuse what is no pace.

    Raises:
        InvalidPace: it is not from 1 to ``FASTEST``.
    """
    if pace is not None and not 1 <= pace <= FASTEST:
        raise InvalidPace(pace)


def allowed(pace: int, free_at: datetime | None, now: datetime) -> int:
    """How many messages may go now: from 0 to those of one second.

    Args:
        pace: messages a second, from 1.
        free_at: until when all that was allowed was sent; none, if nothing was.
        now: by the database's clock.
    """
    unused = (now - begins(pace, free_at, now)) * pace // SECOND
    return min(max(unused, 0), pace)


def spent(
    pace: int, free_at: datetime | None, sent: int, now: datetime
) -> datetime | None:
    """Until when all that was allowed is sent, after so many."""
    if not sent:
        return free_at
    return begins(pace, free_at, now) + sent * SECOND / pace


def begins(pace: int, free_at: datetime | None, now: datetime) -> datetime:
    """From when on what was allowed has not been used: a second ago at most, and as
    long before that as one message takes."""
    return max(free_at or now - SECOND, now - SECOND - SECOND / pace)
