"""Rows of minutes as a query set, as far as pages ask.

PostgreSQL has rows of hours. They decide which queues a user sees on which days; the
minutes of these come from files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING

from django.db.models import QuerySet
from django.db.models.fields.json import KT

from dashboards.models import ReportRow
from dashboards.reports import Column, Report

if TYPE_CHECKING:
    from dashboards.pipeline.minute_rows import MinuteFile, Order

MINUTE = "minute"
NEWEST_FIRST = ("day", "descending")


@dataclass(frozen=True)
class MinuteRows:
    """Rows of minutes, read when they are asked for."""

    report: Report
    files: Sequence[MinuteFile]  # one file for each day, the newest first
    order: Order = (NEWEST_FIRST,)
    begin: int = 0
    end: int | None = None

    @classmethod
    def of(cls, hours: QuerySet[ReportRow], report: Report) -> MinuteRows:
        """The minutes of some hours, in no order.

        Raises:
            FileLost: a day has no file; a sentence for people.
        """
        from dashboards.pipeline import minute_rows  # noqa: PLC0415  loads pyarrow

        queue = next(one.name for one in report.columns if one.type == "queue")
        named: defaultdict[date, list[str]] = defaultdict(list)
        found = hours.order_by().values_list("day", KT(f"cells__{queue}"))
        for day, name in found.distinct():
            named[day].append(name)
        return cls(report, minute_rows.files_of(report, named, queue))

    def order_by(self, order: Order) -> MinuteRows:
        return replace(self, order=order)

    def count(self) -> int:
        return sum(file.count for file in self.files)

    def __getitem__(self, part: slice) -> MinuteRows:
        return replace(self, begin=part.start or 0, end=part.stop)

    def __iter__(self) -> Iterator[ReportRow]:
        return self.iterator()

    def iterator(self, chunk_size: int = 500) -> Iterator[ReportRow]:
        """The rows; ``n`` is the place of each among those that it is sorted with."""
        from dashboards.pipeline import minute_rows  # noqa: PLC0415  loads pyarrow

        begin = self.begin
        left = (self.count() if self.end is None else self.end) - begin
        for files in self.sorted_together():
            if left <= 0:
                return
            many = sum(file.count for file in files)
            if begin < many:
                found = minute_rows.first(files, begin + left, self.order).slice(begin)
                for batch in found.to_batches(chunk_size):
                    for cells in batch.to_pylist():
                        begin += 1
                        yield ReportRow(
                            report=self.report.slug,
                            day=cells["day"],
                            n=begin,
                            cells=cells,
                        )
                left -= found.num_rows
            begin = max(0, begin - many)

    def sorted_together(self) -> list[Sequence[MinuteFile]]:
        """All files, or each on its own if days come in order."""
        if self.order[0] == NEWEST_FIRST:
            return [[file] for file in self.files]
        return [self.files]

    def totals(
        self, amount: Column, named: Collection[str]
    ) -> dict[tuple[datetime, str | None], float]:
        """The sums of a column, by minute and queue; those not named are one."""
        from dashboards.pipeline import minute_rows  # noqa: PLC0415  loads pyarrow

        assert self.report.time is not None
        return minute_rows.totals(self.files, self.report.time, amount, named)
