"""A range of time, as URLs, commands and the REST interface give it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from django.http import QueryDict

from broker.formats.moments import NoSuchTime
from broker.monitoring.history.levels import LEVELS
from console.edges.times import typed

RANGES = {
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}


USUAL = "1h"


SHORTEST = timedelta(minutes=1)


class NoRange(ValueError):
    """The URL's range cannot be shown; the text says why, and what to write."""


@dataclass(frozen=True, slots=True)
class Range:
    """A range of time; one with a name ends now, and goes on."""

    begin: datetime
    end: datetime
    name: str = ""

    @classmethod
    def of(
        cls, name: str, begin: datetime | None, end: datetime | None, *, now: datetime
    ) -> Range:
        """The range of that name, or from ``begin`` to ``end``, or to now without it.

        Raises:
            NoRange: there is no such range.
        """
        if begin is None and end is None:
            if name not in RANGES:
                names = ", ".join(RANGES)
                raise NoRange(f"There is no range {name[:20]}. The ranges are {names}.")
            return cls(now - RANGES[name], now, name)
        end = min(end or now, now)
        if begin is None or begin >= end:
            raise NoRange("“from” has to be before “to”, and before now.")
        if begin < (oldest := now - LEVELS[-1].kept):
            raise NoRange(f"There is nothing from before {oldest:%Y-%m-%d}.")
        return cls(min(begin, end - SHORTEST), end)

    @classmethod
    def of_url(cls, said: QueryDict, now: datetime) -> Range:
        """The range of a page's URL.

        Raises:
            NoRange: there is no such range.
        """
        begin, end = (moment(said.get(name, ""), name) for name in ("from", "to"))
        return cls.of(said.get("range", USUAL), begin, end, now=now)


def moment(said: str, name: str, zone: tzinfo | None = UTC) -> datetime | None:
    """An end of a range; in URLs, which are passed on, times without an offset are UTC.

    Raises:
        NoRange: it is no time.
    """
    try:
        found = typed(said, zone)
    except NoSuchTime as error:
        raise NoRange(f"“{name}”: {error}") from None
    except ValueError:
        found = None
    if found is None and said:
        raise NoRange(f"“{name}” is no time. Write it like 2026-05-14T02:00Z.")
    return found
