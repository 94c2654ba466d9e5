"""The values that keys are compared with: texts, numbers, times and durations. The text
of each value is written so that parsing it gives an equal value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Literal, TypeAlias

from broker.formats.quantities import write_duration

Operator: TypeAlias = Literal["<", "<=", ">", ">="]

# Text that needs no quotes at any place in a filter.
BARE = re.compile(r"[\w/@$#+=][\w./@$#+=-]*")


@dataclass(frozen=True, slots=True)
class Text:
    """A text; between two of its parts, and only there, any characters may be."""

    parts: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        return len(self.parts) == 1

    def matches(self, text: str) -> bool:
        """Whether another text matches this text, as a whole."""
        return pattern_of(self.parts).fullmatch(text) is not None

    def __str__(self) -> str:
        return "*".join(quoted(part) for part in self.parts) or '""'


@lru_cache(maxsize=100)  # one text is compared with thousands of names
def pattern_of(parts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, parts)), re.S)


@dataclass(frozen=True, slots=True)
class Moment:
    """A time as the user wrote it; ``length`` is the precision that the user gave."""

    start: datetime  # in UTC
    length: timedelta  # a day, a minute, a second or a microsecond

    @property
    def end(self) -> datetime:
        """The first instant after the period; 2026-01-02 is a period of one day."""
        return self.start + self.length

    def __str__(self) -> str:
        if self.length == timedelta(days=1):
            return self.start.date().isoformat()
        spec = {60: "minutes", 1: "seconds"}.get(
            int(self.length.total_seconds()), "microseconds"
        )
        naive = self.start.replace(tzinfo=None)
        return f"{naive.isoformat(timespec=spec)}Z"


Value: TypeAlias = Text | int | Decimal | Moment | timedelta


@dataclass(frozen=True, slots=True)
class Is:
    """Equal to the value; for a text, its parts match in order."""

    value: Value

    def __str__(self) -> str:
        return written(self.value)


@dataclass(frozen=True, slots=True)
class Compared:
    """Less or greater than the value."""

    operator: Operator
    value: Value

    def __str__(self) -> str:
        return f"{self.operator}{written(self.value)}"


@dataclass(frozen=True, slots=True)
class Between:
    """In a range of values, including both ends."""

    low: Value
    high: Value

    def __str__(self) -> str:
        return f"{written(self.low)}..{written(self.high)}"


Alternative: TypeAlias = Is | Compared | Between


def written(value: Value) -> str:
    match value:
        case timedelta():
            # Blanks and commas would end a value in a filter.
            return re.sub("[ ,]", "", write_duration(value, exact=True))
        case Decimal():
            return f"{value:f}"
    return str(value)


def quoted(text: str) -> str:
    """A part of a text; in quotes if the parser would read it as something else."""
    if not text or (BARE.fullmatch(text) and ".." not in text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
