"""Statements that run for each message, sent as cheaply as psycopg allows.

A cursor of psycopg takes its parameters by name, finds out each time how to convert
them, and holds them and all rows until its next use: half of a client's time for one
message. So these statements have numbered parameters, and remember how values are
converted. A cursor only prepares them.

This uses private parts of psycopg, as ``prepared_statements`` does.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.pq import ExecStatus, Format, PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row
from psycopg.types.json import JsonbBinaryLoader

from broker.sql.arrays import TYPES, Array, ArrayDumper
from broker.sql.prepared_statements import keep_over_rollbacks

BINARY = Format.BINARY
IDLE = TransactionStatus.IDLE
JSONB = psycopg.postgres.types["jsonb"].oid
NO_KEYS = b"\x01{}"  # an empty JSON object in PostgreSQL's binary format
# A percent sign, or a parameter; an array has its type.
PARAMETER = re.compile(rb"%(?:%|\((\w+)\)(?:b::(\w+)\[\]|[sb]))")

Rows = list[tuple[Any, ...]]


class ObjectLoader(JsonbBinaryLoader):
    """Loads JSON values. Most are the empty properties of a message; parsing these
    would take a fifth of a client's time."""

    def load(self, data: Buffer) -> Any:
        return {} if data == NO_KEYS else super().load(data)


def new_cursor(line: psycopg.Connection) -> psycopg.Cursor[tuple[Any, ...]]:
    """A cursor whose statements name their parameters."""
    cursor = psycopg.Cursor(line, row_factory=tuple_row)
    cursor.adapters.register_loader(JSONB, ObjectLoader)
    return cursor


class Statement:
    """A statement on one connection, for one thread.

    Args:
        text: the statement. Its parameters have names; at least two are no arrays.
        line: the connection.
    """

    def __init__(self, text: bytes, line: psycopg.Connection) -> None:
        self.line = line
        self.prepared = keep_over_rollbacks(line)
        self.text, arrays, others = numbered(text)
        self.arrays = [(name, TYPES[type_name]) for name, type_name in arrays.items()]
        self.oids = tuple(kind.oid for _, kind in self.arrays)
        self.binary = [BINARY] * len(self.arrays)
        self.pick = itemgetter(*others)
        self.formats = [PyFormat.AUTO] * len(others)
        self.transformer = Transformer(self.new_cursor())

    def new_cursor(self) -> psycopg.RawCursor[tuple[Any, ...]]:
        """A cursor whose statements number their parameters."""
        cursor = psycopg.RawCursor(self.line, row_factory=tuple_row)
        cursor.adapters.register_loader(JSONB, ObjectLoader)
        cursor.adapters.register_dumper(Array, ArrayDumper)
        return cursor

    def run(self, parameters: dict[str, Any]) -> Rows:
        converts, pgconn = self.transformer, self.line.pgconn
        values = self.pick(parameters)
        try:
            arrays = [kind.dump(parameters[name]) for name, kind in self.arrays]
        except (TypeError, AttributeError, struct.error):  # psycopg has the answer
            return self.prepare(
                [*(parameters[name] for name, _ in self.arrays), *values]
            )
        bound = [*arrays, *converts.dump_sequence(values, self.formats)]
        types = self.oids + (converts.types or ())
        formats = self.binary + (converts.formats or [])
        name = self.prepared.name_of(self.text, types)
        if name is None or pgconn.pipeline_status != PipelineStatus.OFF:
            return self.prepare([*map(Array, self.oids, arrays), *values])
        with self.line.lock:
            if not self.line.autocommit and pgconn.transaction_status == IDLE:
                self.line.wait(self.line._start_query())  # BEGIN
            if name:
                pgconn.send_query_prepared(name, bound, formats, BINARY)
            else:
                pgconn.send_query_params(self.text, bound, types, formats, BINARY)
            results = self.line.wait(execute(pgconn))
        # Rows come before the commit: an error after them says that it may have failed.
        for result in results:
            if result.status != ExecStatus.TUPLES_OK:
                raise error_from_result(result, encoding=self.line.info.encoding)
        (result,) = results
        converts.set_pgresult(result)
        rows = converts.load_rows(0, result.ntuples, tuple)
        converts.set_pgresult(None)  # bodies are not held until the next run
        return rows

    def prepare(self, values: Sequence[Any]) -> Rows:
        """Run the statement by a cursor, which prepares it."""
        with self.new_cursor() as cursor:
            cursor.execute(self.text, values, prepare=True, binary=True)
            return cursor.fetchall()


class Numbered(NamedTuple):
    """A statement with numbers in place of the names of its parameters."""

    text: bytes
    arrays: dict[str, str]  # the types of the elements of the first ones, by name
    others: list[str]  # the names of the others


@cache
def numbered(text: bytes) -> Numbered:
    """Number the parameters of a statement, arrays first."""
    found = [one.groups() for one in PARAMETER.finditer(text)]
    arrays = {name: kind for name, kind in found if kind}
    others = {name: None for name, _ in found if name and name not in arrays}
    numbers = {name: n for n, name in enumerate([*arrays, *others], 1)}

    def number(match: re.Match[bytes]) -> bytes:
        if (name := match[1]) is None:
            return b"%"
        return b"$%d%s" % (numbers[name], b"::%s[]" % match[2] if match[2] else b"")

    return Numbered(
        PARAMETER.sub(number, text),
        {name.decode(): kind.decode() for name, kind in arrays.items()},
        [name.decode() for name in others],
    )
