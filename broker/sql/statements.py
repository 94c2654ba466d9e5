"""Statements that run for each message, sent as cheaply as psycopg allows.

A cursor of psycopg takes its parameters by name, finds out each time how to convert
them, and holds them and all rows until its next use: half of a client's time for one
message. So these statements have numbered parameters, and remember how values are
converted. A cursor only prepares them.

This uses private parts of psycopg, as ``prepared_statements`` does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.pq import ExecStatus, Format, PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row
from psycopg.types.json import JsonbBinaryLoader

from broker.sql.arrays import ListDumper
from broker.sql.prepared_statements import keep_over_rollbacks

BINARY = Format.BINARY
IDLE = TransactionStatus.IDLE
JSONB = psycopg.postgres.types["jsonb"].oid
NO_KEYS = b"\x01{}"  # an empty JSON object in PostgreSQL's binary format
PARAMETER = re.compile(rb"%(?:%|\((\w+)\)[sb])")

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
        text: the statement; it has at least two parameters, by name.
        line: the connection.
    """

    def __init__(self, text: bytes, line: psycopg.Connection) -> None:
        self.line = line
        self.prepared = keep_over_rollbacks(line)
        self.text, names = numbered(text)
        self.pick = itemgetter(*names)
        self.formats = [PyFormat.AUTO] * len(names)
        self.transformer = Transformer(self.new_cursor())

    def new_cursor(self) -> psycopg.RawCursor[tuple[Any, ...]]:
        """A cursor whose statements number their parameters."""
        cursor = psycopg.RawCursor(self.line, row_factory=tuple_row)
        cursor.adapters.register_loader(JSONB, ObjectLoader)
        cursor.adapters.register_dumper(list, ListDumper)
        return cursor

    def run(self, parameters: dict[str, Any]) -> Rows:
        values = self.pick(parameters)
        converts, pgconn = self.transformer, self.line.pgconn
        bound = converts.dump_sequence(values, self.formats)
        types, formats = converts.types or (), converts.formats
        name = self.prepared.name_of(self.text, types)
        if name is None or pgconn.pipeline_status != PipelineStatus.OFF:
            return self.prepare(values)
        with self.line.lock:
            if not self.line.autocommit and pgconn.transaction_status == IDLE:
                self.line.wait(self.line._start_query())  # BEGIN
            if name:
                pgconn.send_query_prepared(name, bound, formats, BINARY)
            else:
                pgconn.send_query_params(self.text, bound, types, formats, BINARY)
            (result,) = self.line.wait(execute(pgconn))
        if result.status != ExecStatus.TUPLES_OK:
            raise error_from_result(result, encoding=self.line.info.encoding)
        converts.set_pgresult(result)
        rows = converts.load_rows(0, result.ntuples, tuple)
        converts.set_pgresult(None)  # bodies are not held until the next run
        return rows

    def prepare(self, values: Sequence[Any]) -> Rows:
        """Run the statement by a cursor, which prepares it."""
        with self.new_cursor() as cursor:
            cursor.execute(self.text, values, prepare=True, binary=True)
            return cursor.fetchall()


@cache
def numbered(text: bytes) -> tuple[bytes, list[str]]:
    """A statement with numbers in place of the names of its parameters; the names in
    the order of their numbers."""
    numbers: dict[bytes, int] = {}

    def number(found: re.Match[bytes]) -> bytes:
        if (name := found[1]) is None:
            return b"%"
        return b"$%d" % numbers.setdefault(name, len(numbers) + 1)

    return PARAMETER.sub(number, text), [name.decode() for name in numbers]
