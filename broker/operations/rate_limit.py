"""Rate limit of an operation: messages per second, by the database's clock.

The state is one time: the allowance up to this time is used. Unused allowance is lost
after one second, so a late worker does not send a burst.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from broker.errors.operations import InvalidPace

FASTEST = 100_000  # highest rate, in messages per second
SECOND = timedelta(seconds=1)


def check(pace: int | None) -> None:
    """Refuse a rate out of range. None means no limit.

    Raises:
        InvalidPace: the rate is not from 1 to ``FASTEST``.
    """
    if pace is not None and not 1 <= pace <= FASTEST:
        raise InvalidPace(pace)


def allowed(pace: int, free_at: datetime | None, now: datetime) -> int:
    """How many messages may be sent now: from 0 to the number of one second.

    Args:
        pace: messages per second, from 1.
        free_at: time until which the allowance is used; None if nothing was sent.
        now: the current time by the database's clock.
    """
    unused = (now - begins(pace, free_at, now)) * pace // SECOND
    return min(max(unused, 0), pace)


def spent(
    pace: int, free_at: datetime | None, sent: int, now: datetime
) -> datetime | None:
    """The new value of ``free_at`` after ``sent`` messages."""
    if not sent:
        return free_at
    return begins(pace, free_at, now) + sent * SECOND / pace


def begins(pace: int, free_at: datetime | None, now: datetime) -> datetime:
    """The start of the unused allowance: at most one second ago, plus the time of one
    message."""
    return max(free_at or now - SECOND, now - SECOND - SECOND / pace)
