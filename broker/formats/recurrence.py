"""When something recurs: by a crontab line in a time zone, or at an interval."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from broker.formats.quantities import write_duration


def check_crontab(line: str) -> None:
    """Refuse a line that cannot be read.

    Raises:
        ValueError: why, and what to write.
    """
    try:
        CronSim(line, datetime.now(UTC))
    except CronSimError as error:
        raise ValueError(
            f"“{line[:60]}” is no crontab line: {error}. Write minute, hour, day of the"
            " month, month and day of the week, as “0 6 * * 1-5”."
        ) from None


def next_by_crontab(line: str, zone: str, after: datetime) -> datetime | None:
    """The first time after another; None if it never comes."""
    return next(CronSim(line, after.astimezone(ZoneInfo(zone))), None)


def next_by_interval(every: timedelta, last: datetime, after: datetime) -> datetime:
    """The first of the times ``last + n * every`` after another."""
    steps = max((after - last) // every + 1, 1)
    return last + steps * every


def in_words(line: str) -> str:
    """A crontab line as text."""
    return CronSim(line, datetime.now(UTC)).explain()


def every(seconds: int) -> str:
    """An interval as text."""
    return f"every {write_duration(seconds, exact=True)}"
