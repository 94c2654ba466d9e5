"""Durations, sizes and counts, as people read and write them: ``2 h 5 min``,
``1.5 MiB``, ``5,000 messages``.

Pages, forms, ``backout.toml``, filters, alerts and the command line read and write them
here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal

from django.utils.translation import get_language

MS: Mapping[str, int] = {  # milliseconds of each unit of time, the largest first
    "d": 86_400_000,
    "h": 3_600_000,
    "min": 60_000,
    "s": 1000,
    "ms": 1,
}
BYTES: Mapping[str, int] = {  # bytes of each unit, the largest first
    "TiB": 2**40,
    "TB": 10**12,
    "GiB": 2**30,
    "GB": 10**9,
    "MiB": 2**20,
    "MB": 10**6,
    "KiB": 2**10,
    "kB": 10**3,
    "B": 1,
}
ENDINGS = ("_ms", "_s", "_bytes")  # units at the end of the names of stored fields
SPELLED_MS = {
    **dict.fromkeys(("w", "week", "weeks"), 7 * MS["d"]),
    **dict.fromkeys(("d", "day", "days"), MS["d"]),
    **dict.fromkeys(("h", "hour", "hours"), MS["h"]),
    **dict.fromkeys(("m", "min", "minute", "minutes"), MS["min"]),
    **dict.fromkeys(("s", "sec", "second", "seconds"), MS["s"]),
    "ms": 1,
}
SPELLED_BYTES = {
    **{unit.lower(): size for unit, size in BYTES.items()},
    **{unit.lower().rstrip("b"): size for unit, size in BYTES.items() if size > 1},
    **dict.fromkeys(("byte", "bytes"), 1),
}
# Pairs of milliseconds: of a duration of at least the first number, only whole
# multiples of the second are shown.
ROUNDED = ((MS["d"], MS["h"]), (MS["h"], MS["min"]), (10 * MS["s"], MS["s"]))
ENDS_BEFORE = 10**18  # numbers with more digits are not written with a unit
PLACES = Decimal("0.001")  # most decimal places of an exact size
DIGITS = r"\d{1,3}(?:[,'\u00a0\u202f ]\d{3})+|\d{1,19}"
NUMBER = re.compile(DIGITS, re.ASCII)
ENGLISH = "en"
# Where a comma is a decimal point, spaces separate thousands, as in ISO 80000-1.
ELSEWHERE = str.maketrans({",": "\u202f", ".": ","})
PART = re.compile(rf"({DIGITS})(\.\d{{1,9}})?\s*([A-Za-z]+)\s*", re.ASCII)


def read_duration(text: str, unit: str = "s") -> int:
    """A whole number of seconds, or of another unit, of a text such as ``10 min``,
    ``1h30m`` or ``1.5 h``; ``0`` needs no unit.

    Raises:
        ValueError: the text is no such duration; its message says what to write.
    """
    ms = Decimal(0) if text.strip() == "0" else read_parts(text, SPELLED_MS)
    if ms is None or ms % MS[unit]:
        known = [one for one, size in MS.items() if size >= MS[unit]]
        raise ValueError(
            f"{text[:40]!r} is no duration here. Write a number and a unit, as “5 min”:"
            f" {', '.join(known)}."
        )
    return int(ms / MS[unit])


def write_duration(
    span: timedelta | float, unit: str = "s", *, exact: bool = False
) -> str:
    """A duration in its two largest units, a short one to a tenth of a second; or all
    of it, to the millisecond. A number is in the unit."""
    if isinstance(span, timedelta):
        span, unit = span / timedelta(milliseconds=1), "ms"
    ms = round(span * MS[unit])
    if ms < 0:
        return f"-{write_duration(-ms, 'ms', exact=exact)}"
    if not exact:
        step = next((step for least, step in ROUNDED if ms >= least), 1)
        ms = round(ms, -2) if 1000 <= ms < 10_000 else ms - ms % step
    parts = []
    for name in ("d", "h", "min"):
        count, ms = divmod(ms, MS[name])
        if count:
            parts.append(f"{count:,} {name}")
    if ms and (ms >= 1000 or parts):
        parts.append(f"{(Decimal(ms) / 1000).normalize():f} s")
    elif ms:
        parts.append(f"{ms} ms")
    return " ".join(parts) or "0 s"


def read_size(text: str) -> int:
    """Bytes of a text such as ``64 KiB`` or ``1.5m``; a number alone is in bytes.

    Raises:
        ValueError: the text is no size; its message says what to write.
    """
    alone = NUMBER.fullmatch(text.strip())
    size = read_parts(f"{text} B" if alone else text, SPELLED_BYTES)
    if size is None:
        raise ValueError(
            f"{text[:40]!r} is no size. Write a number and a unit, as “64 KiB”:"
            f" {', '.join(BYTES)}."
        )
    return int(size)


def write_size(count: int, *, exact: bool = False) -> str:
    """Bytes in binary units to one decimal; or all of them, in the text with the fewest
    digits, and of these with the largest unit."""
    if exact and count > 0:
        texts = [
            f"{number.normalize():f} {unit}"
            for unit, size in BYTES.items()
            if (number := (Decimal(count) / size).quantize(PLACES)) * size == count
            and number >= 1
        ]
        return min(texts, key=lambda text: sum(map(str.isdigit, text)))
    if count < 1024:
        return f"{count} B"
    units = iter(("KiB", "MiB", "GiB", "TiB"))
    amount, unit = count / 1024, next(units)
    while amount >= 1023.95 and unit != "TiB":
        amount, unit = amount / 1024, next(units)
    return f"{amount:,.1f}".removesuffix(".0") + f" {unit}"


def read_count(text: str) -> int:
    """A number of a text such as ``5,000``.

    Raises:
        ValueError: the text is no number; the message says what to write.
    """
    if not NUMBER.fullmatch(text.strip()):
        raise ValueError(f"{text[:40]!r} is no number. Write one, such as 5,000.")
    return int(re.sub(r"\D", "", text))


def write_count(value: float, noun: str = "", plural: str = "") -> str:
    """A number with separators, and what is counted; a rate has one decimal. Separators
    are those of the language of the page; ``read_count`` reads them all."""
    number = f"{int(value):,}" if value == int(value) else f"{value:,.1f}"
    if not (get_language() or ENGLISH).startswith(ENGLISH):
        number = number.translate(ELSEWHERE)
    if not noun:
        return number
    return f"{number} {noun if value == 1 else plural or f'{noun}s'}"


def read_stored(text: str, ending: str) -> int:
    """The value of a stored field whose name has this ending, one of ``ENDINGS``.

    Raises:
        ValueError: the text is no such value; its message says what to write.
    """
    return read_size(text) if ending == "_bytes" else read_duration(text, ending[1:])


def write_stored(value: float, ending: str) -> str:
    """The exact text of a stored field's value; ``read_stored`` reads the text."""
    if ending == "_bytes":
        return write_size(int(value), exact=True)
    return write_duration(value, ending[1:], exact=True)


def read_parts(text: str, units: Mapping[str, int]) -> Decimal | None:
    """The sum of numbers, each with its unit; None if the text is something else."""
    total, at, given = Decimal(0), 0, text.strip()
    while part := PART.match(given, at):
        if part[3].lower() not in units:
            return None
        number = re.sub(r"\D", "", part[1]) + (part[2] or "")
        total += Decimal(number) * units[part[3].lower()]
        at = part.end()
    return total if at and at == len(given) else None
