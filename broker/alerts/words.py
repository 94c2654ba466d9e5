"""Quantities as people read and write them: ``10 min``, ``5,000``."""

from __future__ import annotations

import re

from broker.formats.units import SECONDS, parse, written

COUNT = re.compile(r"\d{1,3}(?:[,  ']\d{3})*|\d{1,18}", re.ASCII)


def duration(seconds: int) -> str:
    """A period in its one or two largest units: ``2 h 5 min``."""
    parts: list[str] = []
    rest = max(seconds, 0)
    for unit, size in SECONDS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
        if len(parts) == 2 or (parts and not count):
            break
    return " ".join(parts) or "0 s"


def messages(count: int) -> str:
    return f"{count:,} message{'s'[: count != 1]}"


def read_duration(text: str) -> int:
    """Seconds of a text such as ``10 min``; 0 of an empty text or ``0``.

    Raises:
        ValueError: the text is no duration; the message says what to write.
    """
    return 0 if text.strip() in ("", "0") else parse(text, SECONDS)


def read_count(text: str) -> int:
    """A number of a text such as ``5,000``.

    Raises:
        ValueError: the text is no number; the message says what to write.
    """
    if not COUNT.fullmatch(text.strip()):
        raise ValueError(f"{text[:40]!r} is no number. Write one, such as 5,000.")
    return int(re.sub(r"\D", "", text))


def write_duration(seconds: int) -> str:
    """A duration that ``read_duration`` reads again."""
    return written(seconds, SECONDS)
