"""Events for the archive, and the messages that were put by them."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from broker.models import Kind, Queue
from dashboards.pipeline.fields.error_groups import fingerprints
from dashboards.pipeline.fields.rows import Bounds, rows_of
from dashboards.pipeline.manifest import Span

VERSION = 2  # the version of the columns; sources.py has a reader for each version
PUT = pa.schema({"id": pa.int64(), "at": pa.timestamp("us", "UTC")})


def events(bounds: Bounds) -> Generator[pa.RecordBatch]:
    """The events of a range of transactions and times, in the archive's format."""
    queues = dict(Queue.objects.values_list("pk", "name"))
    ids, names = pa.array(queues, pa.int32()), pa.array(queues.values(), pa.string())
    for batch in rows_of("events_between", bounds):
        yield archived_events(batch, ids, names)


def archived_events(
    batch: pa.RecordBatch, queue_ids: pa.Int32Array, names: pa.StringArray
) -> pa.RecordBatch:
    """Rows of ``events_between.sql`` in the archive's format: with the fingerprint of
    the error in place of its text.

    Args:
        queue_ids, names: of all queues; the name is null for one that was deleted.
    """
    codes, ids = batch["codes"], batch["ids"]
    queue_id = pc.shift_right(codes, 32).cast(pa.int32())
    kind = pc.bit_wise_and(pc.shift_right(codes, 16), 2**16 - 1)
    return pa.RecordBatch.from_pydict(
        {
            "seq": batch["seq"],
            "xid": batch["xid"],
            "at": batch["at"],
            "kind": kind.cast(pa.int16()),
            "queue_id": queue_id,
            "queue": names.take(pc.index_in(queue_id, value_set=queue_ids)),
            "came_from": place(pc.shift_right(codes, 8)),
            "went_to": place(codes),
            "uow": batch["uow"],
            "actor": batch["actor"],
            "n": pc.list_value_length(ids),
            "ids": ids,
            "detail": batch["detail"],
            "fingerprint": fingerprints(batch["error"]),
        }
    )


def place(codes: pa.Int64Array) -> pa.Int16Array:
    """The place in the last 8 bits; null for 0."""
    found = pc.bit_wise_and(codes, 2**8 - 1).cast(pa.int16())
    return pc.if_else(pc.equal(found, 0), None, found)


class Puts:
    """The messages that were put, noted while their events are copied."""

    def __init__(self) -> None:
        self.found: list[pa.Table] = []

    def noted(self, batches: Iterable[pa.RecordBatch]) -> Generator[pa.RecordBatch]:
        """The same events."""
        for batch in batches:
            self.note(batch)
            yield batch

    def note(self, batch: pa.RecordBatch) -> None:
        is_put = pc.equal(batch["kind"], Kind.PUT.value)
        is_new = pc.and_(is_put, pc.is_null(batch["came_from"]))
        put = batch.select(["ids", "at"]).filter(is_new)
        rows = pc.list_parent_indices(put["ids"])
        columns = [put["ids"].flatten(), put["at"].take(rows)]
        self.found.append(pa.Table.from_arrays(columns, schema=PUT))

    def of(self, span: Span | None = None) -> pa.Table:
        """Each message once, ascending, with the time of its first put; those of some
        days, or all."""
        every = pa.concat_tables([PUT.empty_table(), *self.found])
        first = every.group_by("id").aggregate([("at", "min")]).sort_by("id")
        put = first.rename_columns({"at_min": "at"})
        if not span:
            return put
        days = pc.greater_equal(put["at"], span.begin), pc.less(put["at"], span.end)
        return put.filter(pc.and_(*days))
