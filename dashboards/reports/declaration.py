"""What a report says of itself, as data: pages and runs need no more than this.

Neither Django nor Spark is needed to read a declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Values = Mapping[str, Any]  # of parameters, by name
Rows = Sequence[Mapping[str, Any]]
Inputs = Mapping[str, "DataFrame"]  # by the names of ``TABLES``
Build = Callable[[Inputs, Values], "DataFrame"]
Check = Callable[[Inputs, Rows], None]

# Of silver, see pipeline/silver.py; and the fields of messages that were put, see
# pipeline/message_fields.py.
TABLES = ("deliveries", "lifelines", "open", "transfers", "messages")
Kind = Literal[
    "text", "queue", "cause", "fingerprint", "message", "count", "number", "share",
    "seconds", "day", "moment",
]  # fmt: skip
STORED: Mapping[str, str] = {
    "text": "string",
    "queue": "string",
    "cause": "string",
    "fingerprint": "string",
    "message": "bigint",
    "count": "bigint",
    "number": "double",
    "share": "double",  # from 0 to 1
    "seconds": "double",
    "day": "date",
    "moment": "timestamp",
}


def finite(said: Any) -> float:
    """
    Raises:
        ValueError: JSON, and so PostgreSQL, has no such number.
    """
    if not isfinite(value := float(said)):
        raise ValueError(said)
    return value


def text(said: Any) -> str:
    """A text whose lines end as they do here, not as a browser sends them."""
    return str(said).replace("\r\n", "\n")


READERS: Mapping[str, Callable[[str], Any]] = {
    "text": text,
    "count": int,
    "number": finite,
    "day": date.fromisoformat,
}
DAYS = "days"  # the parameter that says how many days back a report looks
AS_OF = "as_of"  # beside the parameters: everything before that moment is counted


@dataclass(frozen=True)
class Column:
    """One column of a report's rows."""

    name: str
    title: str
    type: Kind
    unit: str = ""  # behind its numbers
    # A filter of the list of messages that the cell counts, with columns in braces:
    # "origin:{queue} cause:{cause}". Each cell is quoted when it is filled in. Where
    # the keys are cells, too: a function that makes the filter of a row's cells.
    link: str | Callable[[Mapping[str, Any]], str] = ""
    note: str = ""  # what it means, where the title does not say it
    adds_up: bool = True  # of a count: whether the sum over rows is a count, too

    @property
    def has_sum(self) -> bool:
        return self.type == "count" and self.adds_up

    @property
    def stored(self) -> str:
        """Its type in Spark."""
        return STORED[self.type]


@dataclass(frozen=True)
class Chart:
    """One drawing of a report's rows; the table below it has every number."""

    title: str
    type: Literal["bars", "beside", "lines", "grid", "steps"]
    x: str  # a column
    y: str  # a column of numbers, summed where several rows have one place
    series: str = ""  # a column: what is drawn apart, or stacked
    unit: str = ""


@dataclass(frozen=True)
class Parameter:
    """What may be asked of a report, besides itself."""

    name: str
    type: Literal["text", "count", "number", "day"]
    default: Any
    title: str
    note: str = ""
    choices: tuple[Any, ...] = ()
    least: float | None = None
    most: float | None = None
    lines: int = 1  # of a text, that are seen at once; where one is not enough

    def read(self, said: Any) -> Any:
        """What somebody typed, or JSON has, as a value.

        Raises:
            ValueError: a sentence for people.
        """
        try:
            value = READERS[self.type](said if self.type != "day" else str(said))
        except (TypeError, ValueError):
            raise ValueError(f"{self.title} is not a {self.type}: {said!r}.") from None
        if self.choices and value not in self.choices:
            named = ", ".join(map(str, self.choices))
            raise ValueError(f"{self.title} is one of {named}.")
        if self.least is not None and value < self.least:
            raise ValueError(f"{self.title} is at least {self.least:g}.")
        if self.most is not None and value > self.most:
            raise ValueError(f"{self.title} is at most {self.most:g}.")
        return value


@dataclass(frozen=True)
class Report:
    """All there is to know of a report without running it.

    Without parameters it is made by day: its rows have a column ``day``, and those of a
    day are made of that day's silver alone. With parameters, its rows are a run's own.
    """

    slug: str
    title: str
    question: str  # that it answers
    inputs: tuple[str, ...]  # of ``TABLES``
    columns: tuple[Column, ...]
    build: Build
    check: Check  # the same inputs, the rows: raises ReportError
    charts: tuple[Chart, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    version: int = 1  # raised when old days are to be made again
    keep_days: int = 400  # that its rows are kept, where it is made by day
    nightly: bool = True  # it runs with all others; if not, when it is asked for
    # What a row's cells tell of properties, by name. Such rows are for who may read
    # properties on their queue, as far as no rule of redaction masks what they tell.
    tells: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    @property
    def is_by_day(self) -> bool:
        return not self.parameters

    @property
    def is_of_properties(self) -> bool:
        return self.tells is not None

    @property
    def ddl(self) -> str:
        """The columns, as Spark reads schemas."""
        return ", ".join(f"{one.name} {one.stored}" for one in self.columns)

    def read(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Values of all parameters: what was said of them, or their defaults.

        Raises:
            ValueError: a sentence for people.
        """
        if unknown := said.keys() - {one.name for one in self.parameters}:
            raise ValueError(f"There is no parameter {min(unknown)}.")
        return {
            one.name: one.read(said.get(one.name, one.default))
            for one in self.parameters
        }

    def faults(self) -> list[str]:
        """What is wrong with the declaration itself."""
        names = [one.name for one in self.columns]
        used = [*(c.x for c in self.charts), *(c.y for c in self.charts)]
        used += [c.series for c in self.charts if c.series]
        told = [
            (not self.question.endswith("?"), "its question is none"),
            (set(self.inputs) - set(TABLES), "an input is no table"),
            (len(names) != len(set(names)), "two columns have one name"),
            (set(used) - set(names), "a chart shows no column"),
            (self.is_by_day and "day" not in names, "it is by day, and has none"),
        ]
        return [f"{self.slug}: {fault}" for wrong, fault in told if wrong]
