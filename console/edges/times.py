"""Times as pages and commands show them."""

from __future__ import annotations

from datetime import datetime, tzinfo

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext

from broker.formats import moments
from broker.formats.quantities import write_duration

UNKNOWN = "–"


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


def ago(at: datetime, now: datetime | None = None) -> str:
    """The time since or until a moment, in whole seconds."""
    span = int(((now or timezone.now()) - at).total_seconds())
    if not span:
        return gettext("now")
    words = gettext("%(time)s ago") if span > 0 else gettext("in %(time)s")
    return words % {"time": write_duration(abs(span))}
