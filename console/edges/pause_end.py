"""The end of a pause, as people write it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

from django.utils import timezone

from broker.formats import moments
from broker.formats.moments import NoSuchTime
from broker.formats.quantities import read_duration
from console.edges.times import typed

CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
DAY = timedelta(days=1)
HOW = (
    "Write a time of day as “06:00”, a date and a time as “2026-11-27 06:00”, or a"
    " length of time as “2 h”."
)


def pause_end(text: str, now: datetime) -> datetime | None:
    """When a pause ends; None if the text is empty: when somebody ends it.

    Args:
        text: a time of day (``06:00``: the next one), a date with a time, or a length
            of time from now (``2 h``). Times without an offset are in the current time
            zone.
        now: the present time.

    Raises:
        ValueError: the text is none of these; its message says what to write.
    """
    said = text.strip()
    if not said:
        return None
    if clock := CLOCK.fullmatch(said):
        return next_time(time(int(clock[1]), int(clock[2])), now)
    try:
        return typed(said) or now + timedelta(seconds=read_duration(said))
    except NoSuchTime:
        raise
    except (ValueError, OverflowError):
        raise ValueError(f"{said[:40]!r} is no time. {HOW}") from None


def next_time(wanted: time, now: datetime) -> datetime:
    """The next time that a clock in the current time zone shows this."""
    today = timezone.localdate(now)
    found = (
        at.astimezone(UTC)
        for day in (today, today + DAY, today + 2 * DAY)
        for at in moments.instants_of(
            datetime.combine(day, wanted), timezone.get_current_timezone()
        )
    )
    return next(at for at in found if at > now)
