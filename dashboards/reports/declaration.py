"""Declarations of reports, as data; pages and runs need nothing else.

Neither Django nor Spark is needed to read a declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Values = Mapping[str, Any]  # values of parameters, by name
Rows = Sequence[Mapping[str, Any]]
Inputs = Mapping[str, "DataFrame"]  # data frames by the names of ``TABLES``
Build = Callable[[Inputs, Values], "DataFrame"]
Check = Callable[[Inputs, Rows], None]

# Inputs: tables of silver, see pipeline/silver.py, and the fields of messages, see
# pipeline/fields/message_fields.py.
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


def gettext_noop(text: str) -> str:
    """Mark a declared text for translation, as Django's function of this name does. It
    needs no settings: Spark's executors read declarations, too."""
    return text


def finite(said: Any) -> float:
    """
    Raises:
        ValueError: NaN and infinity; JSON, and so PostgreSQL, cannot store them.
    """
    if not isfinite(value := float(said)):
        raise ValueError(said)
    return value


def text(said: Any) -> str:
    """A text with line feeds, not with the CR LF that browsers send."""
    return str(said).replace("\r\n", "\n")


READERS: Mapping[str, Callable[[str], Any]] = {
    "text": text,
    "count": int,
    "number": finite,
    "day": date.fromisoformat,
}
DAYS = "days"  # the parameter for the number of days that a report looks back
AS_OF = "as_of"  # a value beside the parameters: all events before it are counted


@dataclass(frozen=True)
class Column:
    """One column of a report's rows."""

    name: str
    title: str
    type: Kind
    # For numbers: the unit, which is shown after them. For moments: "hour" or "minute",
    # the length of time that a row counts. Rows of minutes are added up by hour; pages
    # show the minutes on request.
    unit: str = ""
    # A filter for the messages that the cell counts, with names of columns in braces:
    # "origin:{queue} cause:{cause}". The cells of these columns are quoted and filled
    # in. A function of a row's cells returns the filter, if its keys depend on the row.
    link: str | Callable[[Mapping[str, Any]], str] = ""
    note: str = ""  # the meaning of the column, if the title is not enough
    adds_up: bool = True  # for counts: whether the sum over all rows is meaningful

    @property
    def has_sum(self) -> bool:
        return self.type == "count" and self.adds_up

    @property
    def stored(self) -> str:
        """The type in Spark."""
        return STORED[self.type]


@dataclass(frozen=True)
class Chart:
    """One chart of a report's rows; the table below it has every number."""

    title: str
    type: Literal["bars", "beside", "lines", "grid", "steps"]
    x: str  # the name of a column
    y: str  # the name of a column of numbers; rows with the same x are summed
    series: str = ""  # the name of a column; each of its values is a series
    unit: str = ""


@dataclass(frozen=True)
class Total:
    """A check: the sum of some columns over all rows is a number of rows of inputs."""

    claim: str  # a sentence without a full stop
    columns: tuple[str, ...]
    # For each table of silver: a condition in SQL. Rows that meet it are counted.
    rows: Mapping[str, str]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a report."""

    name: str
    type: Literal["text", "count", "number", "day"]
    default: Any
    title: str
    note: str = ""
    choices: tuple[Any, ...] = ()
    least: float | None = None
    most: float | None = None
    lines: int = 1  # visible lines of a text field

    def read(self, said: Any) -> Any:
        """The value of an input, typed or from JSON.

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
    """The declaration of a report.

    Without parameters a report is built by day: its rows have a column ``day``, and the
    rows of a day are built from that day's silver alone. With parameters, the rows
    belong to a run.
    """

    slug: str
    title: str
    question: str  # the question that the report answers
    inputs: tuple[str, ...]  # names of tables, from ``TABLES``
    columns: tuple[Column, ...]
    build: Build
    totals: tuple[Total, ...] = ()  # checked before rows are published
    # A function that checks what totals cannot express. It gets the inputs and the
    # rows, and raises ReportError.
    check: Check | None = None
    charts: tuple[Chart, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    version: int = 1  # increased when old days must be built again
    keep_days: int = 400  # days that rows are kept, if the report is built by day
    nightly: bool = True  # whether the report runs every night, or only on request
    # The properties, by name, that a row's cells disclose. Such rows are only for users
    # who may read properties on their queue, unless a redaction rule masks one of them.
    tells: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    @property
    def is_by_day(self) -> bool:
        return not self.parameters

    @property
    def is_of_properties(self) -> bool:
        return self.tells is not None

    @property
    def time(self) -> Column | None:
        """The column of the hour or the minute that each row is of."""
        moments = (one for one in self.columns if one.type == "moment")
        return next((one for one in moments if one.unit in ("hour", "minute")), None)

    @property
    def is_of_minutes(self) -> bool:
        return self.time is not None and self.time.unit == "minute"

    @property
    def by_hour(self) -> Report:
        """A report of minutes as one of hours; another as it is."""
        if self.time is None or self.time.unit == "hour":
            return self
        hour = replace(self.time, title=gettext_noop("Hour"), unit="hour")
        columns = tuple(hour if one == self.time else one for one in self.columns)
        return replace(self, columns=columns)

    @property
    def adds_up(self) -> bool:
        """Whether all of a row but its day, its time and its queue are counts that can
        be added up."""
        others = [one for one in self.columns if not one.has_sum and one != self.time]
        kinds = sorted(one.type for one in others)
        return kinds == ["day", "queue"] and not self.tells

    @property
    def ddl(self) -> str:
        """The columns, as Spark reads schemas."""
        return ", ".join(f"{one.name} {one.stored}" for one in self.columns)

    def read(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """The values of all parameters: the inputs, or the defaults.

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
        """The errors in this declaration."""
        names = [one.name for one in self.columns]
        used = [*(c.x for c in self.charts), *(c.y for c in self.charts)]
        used += [c.series for c in self.charts if c.series]
        summed = [name for one in self.totals for name in one.columns]
        counted = [table for one in self.totals for table in one.rows]
        silver = set(self.inputs) - {"messages"}
        told = [
            (not self.question.endswith("?"), "its question is none"),
            (set(self.inputs) - set(TABLES), "an input is no table"),
            (len(names) != len(set(names)), "two columns have one name"),
            (set(used) - set(names), "a chart shows no column"),
            (set(summed) - set(names), "a total adds up no column"),
            (set(counted) - silver, "a total counts no input from silver"),
            (not self.totals and not self.check, "nothing checks it"),
            (self.is_by_day and "day" not in names, "it is by day, and has none"),
            (self.is_of_minutes and not self.adds_up, "its minutes do not add up"),
        ]
        return [f"{self.slug}: {fault}" for wrong, fault in told if wrong]
