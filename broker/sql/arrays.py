"""Array parameters of hot statements, converted by the types that the statements name.

psycopg looks at each element to find the type of an array, and converts each by
itself: a quarter of a client's time for one message.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self

from psycopg import postgres
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, PyFormat
from psycopg.pq import Format

# Number of dimensions, whether there are NULLs, type of the elements; then the number
# of elements and the number of the first one.
HEAD = struct.Struct("!iiIii")
EMPTY = struct.Struct("!iiI")
LENGTH, LONG = struct.Struct("!i"), struct.Struct("!q")
NULL = LENGTH.pack(-1)
EPOCH, MICROSECOND = datetime(2000, 1, 1, tzinfo=UTC), timedelta(microseconds=1)

Values = Sequence[Any]


def join(values: Sequence[bytes]) -> bytes:
    parts = [b""] * (2 * len(values))
    parts[::2] = map(LENGTH.pack, map(len, values))
    parts[1::2] = values
    return b"".join(parts)


def join_texts(values: Values) -> bytes:
    return join([one.encode() for one in values])


def join_documents(values: Values) -> bytes:
    """Of JSON, as texts; its binary format begins with a version."""
    return join([b"\1" + one.encode() for one in values])


def join_moments(values: Values) -> bytes:
    return join([LONG.pack((one - EPOCH) // MICROSECOND) for one in values])


def join_numbers(code: str, size: int) -> Callable[[Values], bytes]:
    def joined(values: Values) -> bytes:
        parts = [size] * (2 * len(values))
        parts[1::2] = values
        return struct.pack("!" + f"i{code}" * len(values), *parts)

    return joined


class ArrayType(NamedTuple):
    """A type of arrays, and how their elements are converted."""

    oid: int
    element_oid: int
    join: Callable[[Values], bytes]  # elements, each after its length

    @classmethod
    def named(cls, name: str, joins: Callable[[Values], bytes]) -> Self:
        known = postgres.types[name]
        return cls(known.array_oid, known.oid, joins)

    def dump(self, values: Values | None) -> bytes | None:
        """An array in PostgreSQL's binary format.

        Raises:
            TypeError, AttributeError, struct.error: an element has another type.
        """
        if not values:
            return None if values is None else EMPTY.pack(0, 0, self.element_oid)
        nulls = None in values
        elements = b"".join(map(self.element, values)) if nulls else self.join(values)
        return HEAD.pack(1, nulls, self.element_oid, len(values), 1) + elements

    def element(self, value: Any) -> bytes:
        return NULL if value is None else self.join([value])


# By their names in statements.
TYPES = {
    "bigint": ArrayType.named("int8", join_numbers("q", 8)),
    "integer": ArrayType.named("int4", join_numbers("i", 4)),
    "smallint": ArrayType.named("int2", join_numbers("h", 2)),
    "boolean": ArrayType.named("bool", join_numbers("?", 1)),
    "text": ArrayType.named("text", join_texts),
    "bytea": ArrayType.named("bytea", join),
    "jsonb": ArrayType.named("jsonb", join_documents),
    "timestamptz": ArrayType.named("timestamptz", join_moments),
}


class Array(NamedTuple):
    """An array that was converted, for a cursor."""

    oid: int
    data: bytes | None


class ArrayDumper(Dumper):
    """Gives a cursor the arrays that were converted."""

    format = Format.BINARY

    def get_key(self, obj: Array, format: PyFormat) -> Any:  # noqa: A002
        return self.cls, obj.oid

    def upgrade(self, obj: Array, format: PyFormat) -> Self:  # noqa: A002
        dumper = type(self)(self.cls)
        dumper.oid = obj.oid
        return dumper

    def dump(self, obj: Array) -> Buffer | None:
        return obj.data
