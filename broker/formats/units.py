"""Durations and sizes as people write them: ``5 s``, ``1h30m``, ``2 MB``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

MS: Mapping[str, int] = {  # milliseconds of each unit of time, the largest first
    "d": 86_400_000,
    "h": 3_600_000,
    "min": 60_000,
    "s": 1000,
    "ms": 1,
}
SECONDS = {unit: ms // 1000 for unit, ms in MS.items() if ms >= 1000}
BYTES: Mapping[str, int] = {  # bytes of each unit, the largest first
    "GiB": 2**30,
    "GB": 10**9,
    "MiB": 2**20,
    "MB": 10**6,
    "KiB": 2**10,
    "kB": 10**3,
    "B": 1,
}
UNITS = {"_ms": MS, "_s": SECONDS, "_bytes": BYTES}  # by the ending of a field's name
OTHER_SPELLINGS = {
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("hour", "hours"), "h"),
    **dict.fromkeys(("m", "minute", "minutes"), "min"),
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **{unit.lower(): unit for unit in BYTES},
    **dict.fromkeys(("byte", "bytes"), "B"),
}
ENDS_BEFORE = 10**18  # numbers with more digits are not written with a unit
PLACES = Decimal("0.001")  # most decimal places that are written
PART = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*([A-Za-z]+)\s*", re.ASCII)


def parse(text: str, units: Mapping[str, int]) -> int:
    """A quantity in the smallest unit.

    Args:
        text: one or more numbers, each with its unit.
        units: the size of each unit; one of ``UNITS``.

    Raises:
        ValueError: the text is no such quantity; its message says what to write.
    """
    total, at, given = Decimal(0), 0, text.strip()
    while part := PART.match(given, at):
        unit = part[2] if part[2] in units else OTHER_SPELLINGS.get(part[2].lower(), "")
        if unit not in units:
            break
        total += Decimal(part[1]) * units[unit]
        at = part.end()
    if not at or at < len(given) or total != int(total):
        first = next(iter(units))
        raise ValueError(
            f"{text[:40]!r} is no quantity here. Write a number and a unit, as"
            f" “5 {first}”: {', '.join(units)}."
        )
    return int(total)


def written(value: int, units: Mapping[str, int]) -> str:
    """The exact text with the fewest digits, as ``1.5 h``; ``parse`` reads it.

    Of texts with as many digits, that with the largest unit. A number that is not
    positive is in the smallest unit.
    """
    if value <= 0:
        return f"{value} {list(units)[-1]}"
    texts = [
        f"{number.normalize():f} {unit}"
        for unit, size in units.items()
        if (number := (Decimal(value) / size).quantize(PLACES)) * size == value
        and number >= 1
    ]
    return min(texts, key=lambda text: sum(map(str.isdigit, text)))
