"""Cells of reports: as values, as text, and as message filters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from broker.formats import moments
from broker.formats.filters.keys import CAUSES
from broker.formats.filters.values import quoted
from dashboards.models import ReportRow, cause_word
from dashboards.reports import Column, Report

BRACED = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    column: Column
    value: Any
    filter: str = ""  # the filter for the messages that the cell counts; empty if none


def cells_of(report: Report, row: ReportRow) -> list[Cell]:
    """The cells of a row, in the order of the columns."""
    said = values(report, row)
    types = {one.name: one for one in report.columns}
    return [
        Cell(one, said[one.name], filter_of(one, said, types)) for one in report.columns
    ]


def values(report: Report, row: ReportRow) -> dict[str, Any]:
    """The cells of a row by name, as values of their columns' types."""
    said = {one.name: value(one, row.cells.get(one.name)) for one in report.columns}
    if report.is_by_day and row.day:
        said["day"] = row.day
    return said


def value(column: Column, stored: Any) -> Any:
    """A cell's value from its JSON form."""
    if stored is None:
        return None
    if column.type == "day":
        return date.fromisoformat(str(stored)[:10])
    if column.type == "moment":
        # Rows of minutes are read from a file, which has times in place of texts.
        if isinstance(stored, datetime):
            return stored
        return moments.written(str(stored), UTC)
    return stored


def filter_of(
    column: Column, said: Mapping[str, Any], columns: Mapping[str, Column]
) -> str:
    """The filter for the messages that a cell counts; empty if none.

    Values are quoted, so a queue's name cannot change the filter's meaning.
    """
    if not column.link or not said[column.name]:
        return ""
    if callable(column.link):
        return column.link(said)
    parts: dict[str, str | None] = {}
    for name in BRACED.findall(column.link):
        one = columns.get(name)
        parts[name] = term(one, said[name]) if one else None
    if None in parts.values():
        return ""
    return BRACED.sub(lambda match: str(parts[match[1]]), column.link)


def term(column: Column, said: Any) -> str | None:
    """A value in the syntax of filters; None if it cannot be written."""
    if said is None or said == "":
        return None
    if column.type == "cause":
        word = str(said).lower().replace("_", "-")
        return word if word in CAUSES else None
    if isinstance(said, datetime):
        return when(column, said.astimezone(UTC).replace(tzinfo=None))
    if isinstance(said, date):
        return said.isoformat()
    return quoted(said) if isinstance(said, str) else str(said)


def when(column: Column, at: datetime) -> str:
    """A time in the syntax of filters, where it is the whole unit that it names; an
    hour is all of its minutes."""
    if column.unit == "hour":
        return f"{at:%Y-%m-%dT%H}:00Z..{at:%H}:59Z"
    whole = at.second == at.microsecond == 0
    return f"{at.isoformat(timespec='minutes' if whole else 'seconds')}Z"


def plain(column: Column, said: Any) -> Any:
    """A value for files that programs read: times are UTC in ISO 8601."""
    if isinstance(said, datetime):
        return said.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(said, date):
        return said.isoformat()
    return "" if said is None else said


def in_words(column: Column, said: Any) -> str:
    """A value as text for people, in UTC, outside of pages."""
    if said is None:
        return "–"
    if isinstance(said, datetime):
        return moments.in_utc(said)
    if column.type == "cause":
        return cause_word(str(said))
    if isinstance(said, int | float) and column.type != "message":
        return in_figures(column, said)
    return str(said)


def in_figures(column: Column, said: float) -> str:
    if column.type == "share":
        return f"{said:.1%}"
    text = f"{said:,.0f}" if said == int(said) else f"{said:,.1f}"
    unit = column.unit or ("s" if column.type == "seconds" else "")
    return f"{text} {unit}".strip()
