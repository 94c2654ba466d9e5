"""Rows of minutes, added up by hour: what a page shows unless it is asked for minutes.

A report whose rows are of minutes says so: its column of moments has the unit
``minute``. All of its numbers are counts that add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any

from django.db.models import BigIntegerField, DateTimeField, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Trunc

from dashboards.models import ReportRow
from dashboards.reports import Column, Report

HOUR, MINUTE = "hour", "minute"


def times(report: Report) -> Column | None:
    """The column of the minute or hour that each row is of; None if there is none."""
    return next(
        (c for c in report.columns if c.type == "moment" and c.unit in (HOUR, MINUTE)),
        None,
    )


def of_hours(report: Report) -> Report:
    """A report of minutes as one of hours; another report as it is."""
    column = times(report)
    if column is None or column.unit == HOUR:
        return report
    hours = replace(column, title="Hour", unit=HOUR)
    columns = tuple(hours if one is column else one for one in report.columns)
    return replace(report, columns=columns)


@dataclass(frozen=True)
class HourlyRows:
    """Rows of hours, made when they are read; as a query set, as far as pages ask."""

    report: Report  # of hours
    groups: QuerySet[Any, Any]

    @classmethod
    def of(cls, rows: QuerySet[ReportRow], report: Report) -> HourlyRows:
        """The rows of minutes, added up, in no order."""
        column = times(report)
        assert column is not None
        keys = {
            one.name: KT(f"cells__{one.name}")
            for one in report.columns
            if not one.has_sum and one.name not in (column.name, "day")
        }
        hour = Trunc(
            Cast(KT(f"cells__{column.name}"), DateTimeField()), HOUR, tzinfo=UTC
        )
        groups = rows.order_by().values("day", **{column.name: hour}, **keys)
        sums = {
            one.name: Sum(Cast(KT(f"cells__{one.name}"), BigIntegerField()))
            for one in report.columns
            if one.has_sum
        }
        return cls(report, groups.annotate(**sums))

    def order_by(self, *by: Any) -> HourlyRows:
        return replace(self, groups=self.groups.order_by(*by))

    def count(self) -> int:
        return self.groups.count()

    def __getitem__(self, part: slice) -> HourlyRows:
        return replace(self, groups=self.groups[part])

    def __iter__(self) -> Iterator[ReportRow]:
        return map(self.row, self.groups)

    def iterator(self, chunk_size: int = 500) -> Iterator[ReportRow]:
        return map(self.row, self.groups.iterator(chunk_size=chunk_size))

    def row(self, group: dict[str, Any]) -> ReportRow:
        return ReportRow(report=self.report.slug, day=group.pop("day"), cells=group)
