"""Times at the borders: what one without an offset from UTC means there.

Inside, each time has an offset. What comes from outside is read by one of these, and
nowhere else; docs/times.md has the rule of each border.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

MINUTE, SECOND = "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"  # formats of strftime
HOW = "2026-05-14T02:00Z or 2026-05-14T02:00+02:00"


class NoSuchTime(ValueError):
    """The clocks of a zone skip a time, or show it twice; it says what to write."""


def parse(text: str) -> datetime:
    """A time that a program wrote, in ISO 8601.

    Raises:
        ValueError: it is none, or has no offset from UTC.
    """
    return required(datetime.fromisoformat(text))


def required(at: datetime, name: str = "") -> datetime:
    """A time of a program, which has to have an offset.

    Args:
        at: the time.
        name: of the field, for the sentence.

    Raises:
        ValueError: it has none; nobody knows which time is meant.
    """
    if at.utcoffset() is None:
        what = f"{name}, {at.isoformat(sep=' ')}," if name else at.isoformat(sep=" ")
        raise ValueError(
            f"{what} does not say in which time zone it is. Give its offset from UTC,"
            f" as {HOW}; in Python, datetime.now(UTC) has one."
        )
    return at


def written(text: str, zone: tzinfo) -> datetime:
    """A time that a program wrote in ISO 8601; without an offset, of a zone.

    Raises:
        ValueError: it is none.
    """
    return by_clock(datetime.fromisoformat(text), zone)


def by_clock(at: datetime, zone: tzinfo) -> datetime:
    """A time from where clocks show that of a zone, if none is said. One that a clock
    shows twice is the earlier unless its ``fold`` says otherwise."""
    return at if at.utcoffset() is not None else at.replace(tzinfo=zone)


def typed(at: datetime, zone: tzinfo) -> datetime:
    """A time that a person wrote; without an offset, by the clocks of a zone.

    Raises:
        NoSuchTime: the clocks never show it, or twice.
    """
    if at.utcoffset() is not None:
        return at
    match instants_of(at, zone):
        case [one]:
            return one
        case [first, second]:
            raise NoSuchTime(
                f"The clocks of {zone} show {at.isoformat(sep=' ')} twice. Write"
                f" {first.isoformat()} or {second.isoformat()}."
            )
    raise NoSuchTime(
        f"The clocks of {zone} skip {at.isoformat(sep=' ')}. Write an earlier or a"
        " later time."
    )


def instants_of(at: datetime, zone: tzinfo) -> list[datetime]:
    """When the clocks of a zone show a time: once, or not at all or twice when they are
    changed."""
    both = (at.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    real = {one.utcoffset(): one for one in both if exists_in_zone(one)}
    return list(real.values())


def exists_in_zone(at: datetime) -> bool:
    back = at.astimezone(UTC).astimezone(at.tzinfo)
    return back.replace(tzinfo=None) == at.replace(tzinfo=None)


def in_utc(at: datetime, form: str = SECOND) -> str:
    """A time as text for people, in UTC, if no time zone was chosen."""
    return f"{at.astimezone(UTC):{form}} UTC"
