"""Array parameters that are converted at once; psycopg converts each element."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from psycopg import postgres
from psycopg.abc import Buffer
from psycopg.types.array import ListBinaryDumper

# Number of dimensions, whether there are NULLs, type of the elements; then the length
# and the number of the first element.
HEAD = struct.Struct("!iiIii")
LENGTH = struct.Struct("!i")


def join(values: list[bytes]) -> bytes:
    parts = [b""] * (2 * len(values))
    parts[::2] = map(LENGTH.pack, map(len, values))
    parts[1::2] = values
    return b"".join(parts)


def join_texts(values: list[str]) -> bytes:
    return join([one.encode() for one in values])


def join_numbers(values: list[int], code: str, size: int) -> bytes:
    parts = [size] * (2 * len(values))
    parts[1::2] = values
    return struct.pack("!" + f"i{code}" * len(values), *parts)


WAYS: dict[str, Callable[[list[Any]], bytes]] = {
    "bytea": join,
    "text": join_texts,
    "int2": lambda values: join_numbers(values, "h", 2),
    "int4": lambda values: join_numbers(values, "i", 4),
    "int8": lambda values: join_numbers(values, "q", 8),
}
# By the type of the array: the type of its elements, and how to convert them.
BY_ARRAY = {
    postgres.types[name].array_oid: (postgres.types[name].oid, way)
    for name, way in WAYS.items()
}


class ListDumper(ListBinaryDumper):
    """Converts lists of bytes, texts and integers. Others, and lists with None or with
    lists in them, are left to psycopg."""

    def dump(self, obj: list[Any]) -> Buffer | None:
        known = BY_ARRAY.get(self.oid)
        if known is None or not obj:
            return super().dump(obj)
        oid, way = known
        try:
            elements = way(obj)
        except (TypeError, AttributeError, struct.error):
            return super().dump(obj)
        return HEAD.pack(1, 0, oid, len(obj), 1) + elements
