"""Fields of messages for the archive: headers and properties, never the body.

A message is deleted some days after it was settled. The archive keeps the fields that
may distinguish failed messages from others for longer. Long texts are cut. Values that
any redaction rule masks on any queue are masked here, because the archive does not
follow a message from queue to queue.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Generator

import pyarrow as pa
import pyarrow.compute as pc

from broker.security import redaction
from broker.security.redaction import Veil
from dashboards.pipeline.fields.properties import columns, cut
from dashboards.pipeline.fields.rows import Bounds, rows_of

VERSION = 2  # the version of the columns; sources.py has a reader for each version
# All fields but the first two are null if the message was already deleted.
FIELDS = """
    message_id bigint, at timestamp, priority smallint, durable boolean, subject string,
    content_type string, producer string, group_id string, reply_to string, size bigint,
    report bigint, feedback bigint, properties map<string, string>,
    numbers map<string, double>
"""
# added in version 2: two fields of IBM MQ's MQMD
ADDED = "report bigint, feedback bigint, "
TEXTS = ("subject", "content_type", "producer", "group_id", "reply_to")
SCHEMA = pa.schema(
    {
        "message_id": pa.int64(),
        "at": pa.timestamp("us", "UTC"),
        "priority": pa.int16(),
        "durable": pa.bool_(),
        **{name: pa.string() for name in TEXTS},
        "size": pa.int64(),
        "properties": pa.map_(pa.string(), pa.string()),
        "report": pa.int64(),
        "feedback": pa.int64(),
        "numbers": pa.map_(pa.string(), pa.float64()),
    }
)
# The messages of a window are read by ranges of ids. A range may include messages of
# other windows, which are read in vain. So a range ends before a gap of more than GAP
# ids, but only before the MOST_GAPS widest gaps.
GAP, MOST_GAPS = 100, 1000


def messages(puts: pa.Table, timeout: str) -> Generator[pa.RecordBatch]:
    """The fields of messages, in the archive's format; last those that are deleted.

    Args:
        puts: the messages, ascending, and the times of their puts.
        timeout: of the statement.
    """
    if not len(puts):
        return
    ids = puts["id"].combine_chunks()
    places = [pa.array([], pa.int64())]
    for batch in rows_of("messages_among", Bounds(ids=ranges(ids), timeout=timeout)):
        found = places_of(batch["message_id"], ids)
        if found.null_count:
            batch = batch.filter(pc.is_valid(found))
        places.append(found.drop_null())
        yield archived_messages(batch, puts["at"].take(places[-1]).combine_chunks())
    gone = puts.filter(
        pc.invert(pc.is_in(pa.arange(0, len(ids)), pa.concat_arrays(places)))
    )
    known = {"message_id": gone["id"], "at": gone["at"]}
    nothing = {
        field.name: known.get(field.name, pa.nulls(len(gone), field.type))
        for field in SCHEMA
    }
    yield from pa.table(nothing, SCHEMA).to_batches()


def ranges(ids: pa.Int64Array) -> str:
    """The ids as a multirange, without the widest gaps between them."""
    gaps = pc.subtract(ids.slice(1), ids.slice(0, len(ids) - 1))
    wide = pc.indices_nonzero(pc.greater(gaps, GAP))
    widest = pc.array_sort_indices(gaps.take(wide), order="descending")
    ends = sorted(wide.take(widest[:MOST_GAPS]).to_pylist())
    firsts = ids.take(pa.array([0, *(end + 1 for end in ends)])).to_pylist()
    lasts = ids.take(pa.array([*ends, len(ids) - 1])).to_pylist()
    parts = [f"[{first},{last}]" for first, last in zip(firsts, lasts, strict=True)]
    return f"{{{','.join(parts)}}}"


def places_of(some: pa.Int64Array, ids: pa.Int64Array) -> pa.Int64Array:
    """The place of some ids among all; null if an id is not among them."""
    bounds = pc.min_max(some)
    begin = bisect_left(ids, bounds["min"].as_py(), key=pa.Int64Scalar.as_py)
    end = bisect_right(ids, bounds["max"].as_py(), key=pa.Int64Scalar.as_py)
    near = pc.index_in(some, value_set=ids.slice(begin, end - begin))
    return pc.add(near.cast(pa.int64()), begin)


def archived_messages(batch: pa.RecordBatch, at: pa.Array) -> pa.RecordBatch:
    """Rows of ``messages_among.sql`` in the archive's format."""
    veil = Veil(redaction.sight_of(None).rules)
    texts, numbers = columns(batch["properties"], veil)
    fields = {
        **{name: batch[name] for name in batch.schema.names},
        **{name: cut(batch[name]) for name in TEXTS},
        "at": at,
        "properties": texts,
        "numbers": numbers,
    }
    return pa.RecordBatch.from_pydict(
        {name: fields[name] for name in SCHEMA.names}, SCHEMA
    )
