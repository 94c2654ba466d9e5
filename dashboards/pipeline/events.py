"""Lines: the journal with one row for each entry and event.

An entry is a message on a queue. A stay is the time from its arrival there
(``came_from`` is null) until it leaves (``went_to`` is null); an entry can have several
stays, one after the other. The lines of an entry have the order of its timeline
(``broker.queueing.journal``): by time, then by ``seq``, which is ordered within one
connection only. The time of an event is the start of its statement, so two events that
follow closely may be in the wrong order. Then each line is moved behind a line whose
``went_to`` equals its ``came_from``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENTS = """
    seq bigint, xid bigint, at timestamp, kind smallint, queue_id int, queue string,
    came_from smallint, went_to smallint, uow bigint, actor string, n int,
    ids array<bigint>, detail string, fingerprint string
"""
STAY = """
    message_id bigint, queue_id int, queue string, stay bigint, began string,
    put_at timestamp, first_got_at timestamp, deliveries int, failed int,
    waited_us bigint, delayed_us bigint, held_us bigint, cause string, error string,
    fingerprint string, put_cause string, put_fingerprint string,
    parent_message_id bigint, parent_queue_id int, parent_queue string,
    parent_end string, parent_cause string, repaired boolean
"""
OPEN = f"""{STAY}, place string, since timestamp, due_at timestamp, last_seq bigint,
    got_at timestamp, handler string, uow bigint
"""

PLAIN_OPEN = ", ".join(
    f"unix_micros({name}) AS {name}" if type_ == "timestamp" else name
    for name, type_ in (one.split() for one in OPEN.split(","))
)

# Copies of broker.models.Kind and Place, which need Django; a test compares them.
KINDS = {
    "put": 1, "got": 2, "accepted": 3, "backed out": 4, "released": 5, "due again": 6,
    "dead-lettered": 7, "expired": 8, "discarded": 9, "resubmitted": 10, "restored": 11,
    "skipped a backout": 12, "counted anew": 13, "taken back": 14, "reinstated": 15,
    "moved": 16, "given another priority": 17, "removed": 18,
    "carried by a link": 19, "given another due time": 20,
}  # fmt: skip
PLACES = {"ready": 1, "claimed": 2, "delayed": 3}
READY, CLAIMED, DELAYED = PLACES.values()
PUT, GOT, BACKED_OUT = KINDS["put"], KINDS["got"], KINDS["backed out"]
DEAD, DISCARDED = KINDS["dead-lettered"], KINDS["discarded"]
EXPIRED = KINDS["expired"]
# Events of this kind move no entry; see link_transfers.py.
CARRIED = KINDS["carried by a link"]
FAILED = (BACKED_OUT, DEAD, DISCARDED)  # kinds that end a failed delivery
# The archive has so many characters of an error; the journal and the message's page
# have all of them.
LONGEST_ERROR = 200

TOLD = """
    error string, cause string, copies array<bigint>, due_at array<string>,
    operation bigint, repaired boolean
"""


def lines(events: DataFrame, before: DataFrame) -> DataFrame:
    """The lines of some days, one after the other.

    Args:
        events: the events of these days, as ``EVENTS``; those of links are left out.
        before: the stays that were open before the first day, as ``OPEN``. Each
            becomes the first line of its entry, without a ``day``. Its columns are in
            ``c``, as JSON with microseconds for times: most lines have none, and a
            structure takes time and room even where it is null.
    """
    return events.sparkSession.sql(
        f"""
        SELECT queue_id, message_id, coalesce(queue, concat('deleted queue ', queue_id))
                AS queue,
            at, seq, kind, came_from AS came, went_to AS went, uow, actor,
            left(told.error, {LONGEST_ERROR}) AS error, fingerprint,
            coalesce(told.cause, IF(kind = {EXPIRED}, 'EXPIRED', NULL)) AS cause,
            get(told.copies, place) AS copy,
            try_cast(get(told.due_at, place) AS timestamp) AS due_at,
            told.operation AS operation, told.repaired AS repaired,
            CAST(NULL AS string) AS c, CAST(at AS date) AS day, 1 AS turn
        FROM (SELECT *, from_json(detail, '{" ".join(TOLD.split())}') AS told
              FROM {{events}} WHERE kind <> {CARRIED})
        LATERAL VIEW posexplode(ids) AS place, message_id
        UNION ALL
        SELECT queue_id, message_id, queue, since, last_seq, 0S, CAST(NULL AS smallint),
            CAST({number("place")} AS smallint), uow, handler, NULL, NULL, NULL,
            CAST(NULL AS bigint), due_at, CAST(NULL AS bigint), CAST(NULL AS boolean),
            to_json(struct({PLAIN_OPEN})) AS c, CAST(NULL AS date), 0
        FROM {{before}}
        """,  # noqa: S608  # constants
        events=events,
        before=before,
    )


def number(column: str) -> str:
    cases = " ".join(f"WHEN '{word}' THEN {place}" for word, place in PLACES.items())
    return f"CASE {column} {cases} END"


ARROW = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
}


def arrow_schema(ddl: str) -> pa.Schema:
    """The columns of one of Spark's schemas."""
    columns = (one.split() for one in ddl.split(","))
    return pa.schema([(name, ARROW[type_]) for name, type_ in columns])


def read_open(lines: bytes) -> pa.Table:
    """Rows of ``OPEN``, from lines of JSON as ``lines`` makes them."""
    schema = arrow_schema(OPEN)
    if not lines:
        return schema.empty_table()
    plain = pa.schema([(one.name, plain_type(one.type)) for one in schema])
    found = json.read_json(
        pa.BufferReader(lines),
        json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        json.ParseOptions(plain, unexpected_field_behavior="error"),
    )
    return found.cast(schema).combine_chunks()


def plain_type(one: pa.DataType) -> pa.DataType:
    """Times are in JSON as microseconds."""
    return pa.int64() if pa.types.is_timestamp(one) else one
