"""The end of a pause, as people write it."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from broker.formats import units

CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
DAY = timedelta(days=1)


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
        at = parse_datetime(said)
        if at is None:
            return now + timedelta(seconds=units.parse(said, units.SECONDS))
    except (ValueError, OverflowError):
        raise ValueError(
            f"{said[:40]!r} is no time. Write a time of day as “06:00”, a date and a"
            " time as “2026-11-27 06:00”, or a length of time as “2 h”."
        ) from None
    return timezone.make_aware(at) if timezone.is_naive(at) else at


def next_time(wanted: time, now: datetime) -> datetime:
    """The next time that a clock in the current time zone shows this."""
    today = timezone.localtime(now)
    at = today.replace(hour=wanted.hour, minute=wanted.minute, second=0, microsecond=0)
    return at if at > today else at + DAY
