"""Files of the archive for each day: written as drafts, and renamed once complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dashboards.pipeline.archive import ArchivePath, harden, moved, writer


def write(
    batches: Iterator[pa.RecordBatch],
    named: Callable[[date], ArchivePath],
    *,
    by_day: bool = True,
) -> dict[date, tuple[ArchivePath, int]]:
    """Write rows to one file for each day, or to one file.

    Returns:
        The path and the number of rows, by day.
    """
    rows: dict[date, int] = {}
    writers: dict[date, pq.ParquetWriter] = {}
    with ExitStack() as open_files:
        for batch in batches:
            parts = split(batch) if by_day else [(date.min, batch)]
            for day, part in parts:
                if day not in writers:
                    draft = named(day).with_suffix(".draft")
                    writers[day] = open_files.enter_context(writer(draft, part.schema))
                writers[day].write_batch(part)
                rows[day] = rows.get(day, 0) + part.num_rows
    files = {day: named(day) for day in writers}
    for file in files.values():
        draft = file.with_suffix(".draft")
        harden([draft])
        moved(draft, file)
    harden(files.values())
    return {day: (file, rows[day]) for day, file in files.items()}


def split(batch: pa.RecordBatch) -> Iterator[tuple[date, pa.RecordBatch]]:
    """The rows of a batch by day (UTC); their order stays the same."""
    days = pc.cast(batch["at"], pa.date32(), safe=False)
    every = pc.unique(days)
    if len(every) == 1:
        yield every[0].as_py(), batch
        return
    for day in every:
        yield day.as_py(), batch.filter(pc.equal(days, day))
