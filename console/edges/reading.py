"""What people type into a field of a request, on pages and in commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from broker.formats.quantities import read_duration
from broker.sql import database_now
from console.edges.pause_end import pause_end


def read_moment(text: str) -> datetime | None:
    """A time to come: of day, with a date, or after a length of time.

    Raises:
        ValueError: it is none of these; the message says what to write.
    """
    return pause_end(text, database_now())


def read_instant(value: Any) -> Any:
    """A time with its offset, or a length of time from now, as programs write them."""
    try:
        span_s = read_duration(value)
    except (TypeError, ValueError):
        return value
    return database_now() + timedelta(seconds=span_s)


READERS: Mapping[type, Callable[[str], Any]] = {datetime: read_moment}
