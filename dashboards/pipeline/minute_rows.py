"""Rows of minutes: only the files of reports have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from dashboards.models import ArchiveFile
from dashboards.pipeline.archive import reader
from dashboards.pipeline.manifest import current, place
from dashboards.pipeline.report_rows import table_of
from dashboards.reports import Column, Report
from dashboards.reports.errors import FileLost

BATCH = 2**16  # rows in memory at once, in addition to the requested rows
Order = Sequence[tuple[str, str]]  # names of columns, each ascending or descending


@dataclass(frozen=True)
class MinuteFile:
    """The minutes of a day, of some queues."""

    file: ArchiveFile
    queue: str  # the name of the column that has the queue
    queues: pa.Array

    @cached_property
    def count(self) -> int:
        return sum(rows.num_rows for rows in self.rows([self.queue]))

    def rows(
        self, columns: list[str] | None = None, batch: int = BATCH
    ) -> Iterator[pa.Table]:
        try:
            with reader(place(self.file)) as content:
                for rows in content.iter_batches(batch, columns=columns):
                    table = pa.Table.from_batches([rows])
                    yield table.filter(pc.is_in(table[self.queue], self.queues))
        except OSError as error:
            raise FileLost(self.file.path) from error


def files_of(
    report: Report, queues: Mapping[date, Collection[str]], queue: str
) -> list[MinuteFile]:
    """The files of some days, the newest first.

    Args:
        queues: the queues that are asked for, by day.
        queue: the name of the column of queues.

    Raises:
        FileLost: a day has no file.
    """
    listed = {file.day: file for file in current(table_of(report))}
    for day in sorted(queues):
        if day not in listed or not place(listed[day]).exists():
            raise FileLost(f"{table_of(report)}/{day}")
    return [
        MinuteFile(listed[day], queue, pa.array(queues[day], pa.string()))
        for day in sorted(queues, reverse=True)
    ]


def first(files: Sequence[MinuteFile], many: int, order: Order) -> pa.Table:
    """The first rows in some order. However many there are, only these and a batch are
    in memory."""
    found: list[pa.Table] = []
    for file in files:
        for rows in file.rows(batch=max(BATCH, many)):
            every = pa.concat_tables([*found, rows])
            if every.num_rows > many:
                every = every.take(pc.select_k_unstable(every, many, order))
            found = [every]
    return found[0].sort_by(order) if found else pa.table({})


def totals(
    files: Sequence[MinuteFile], time: Column, amount: Column, named: Collection[str]
) -> dict[tuple[datetime, str | None], float]:
    """The sums of a column, by minute and queue; all queues but those named are one."""
    found: Counter[tuple[datetime, str | None]] = Counter()
    for file in files:
        for rows in file.rows([time.name, file.queue, amount.name]):
            is_named = pc.is_in(rows[file.queue], pa.array(named, pa.string()))
            keys = pc.if_else(is_named, rows[file.queue], None)
            columns = [rows[time.name], keys, rows[amount.name]]
            groups = pa.table(columns, ["at", "key", "n"]).group_by(["at", "key"])
            for row in groups.aggregate([("n", "sum")]).to_pylist():
                found[row["at"], row["key"]] += row["n_sum"]
    return dict(found)
