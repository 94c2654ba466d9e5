"""Times and lengths of time as pages and commands show them."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from broker.formats import moments

UNKNOWN = "–"


def duration(span: timedelta | float | None) -> str:
    """A duration in its two largest units, a short one to a tenth of a second. Numbers
    are seconds.
    """
    if span is None:
        return UNKNOWN
    exact = span.total_seconds() if isinstance(span, timedelta) else span
    if exact < 10:
        milliseconds = round(exact * 1000)
        short = f"{exact:.1f} s".replace(".0", "")
        return f"{milliseconds} ms" if milliseconds < 1000 else short
    minutes, seconds = divmod(int(exact), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours:02} h"
    if hours:
        return f"{hours} h {minutes:02} m"
    return f"{minutes} m {seconds:02} s" if minutes else f"{seconds} s"


def typed(text: str, zone: tzinfo | None = None) -> datetime | None:
    """A date and a time that a person wrote; None if the text is neither.

    Args:
        text: without an offset from UTC, it is a time of the zone.
        zone: the user's if none is given, and that of the project in commands.

    Raises:
        ValueError: there is no such time, or there are two.
    """
    at = parse_datetime(text)
    return at and moments.typed(at, zone or timezone.get_current_timezone())


def in_zone(at: datetime, zone: tzinfo | None = None) -> str:
    """A moment to the millisecond, in a given zone or the user's."""
    local = timezone.localtime(at, zone)
    return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03}"
