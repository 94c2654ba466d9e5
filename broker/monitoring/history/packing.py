"""The counts of many queues and links, packed into bytes.

A block has the ids, then one column for each of ``FIELDS``: a byte with the size of its
numbers (0: all are zero), and the numbers. A column is as narrow as its largest number.
Numbers are little-endian. The block is compressed with zlib.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import add

from broker.queueing.journal import BOUNDS_MS

DEPTHS = ("ready", "in_flight", "delayed")
# Values at one moment. Several samples combine to the highest value.
GAUGES = (*DEPTHS, "oldest_s")
# Numbers of entries in a period. Several samples combine to the sum.
COUNTS = ("added", "removed", "backed_out", "dead_lettered")
# Numbers of accepted entries in each bucket of the time from get to accept.
TIMES = tuple(f"time_{n}" for n in range(len(BOUNDS_MS) + 1))
FIELDS = (*GAUGES, *COUNTS, *TIMES)
OLDEST = FIELDS.index("oldest_s")
SUMMED_FROM = len(GAUGES)  # index of the first field that combines to a sum
SIZES = {1: "B", 2: "H", 4: "I", 8: "Q"}  # type codes by bytes of a number
QUICKLY = 1  # the level of zlib: higher ones save little

Counts = list[int]  # in the order of FIELDS


def of_link(link_id: int) -> int:
    """The id of a link in a block: negative, to differ from the ids of queues."""
    return -link_id


def packed(counts: Mapping[int, Sequence[int]]) -> bytes:
    """Pack counts, by id of a queue or a link. Empty counts are allowed.

    Args:
        counts: numbers from 0 to 2**64 - 1, in the order of ``FIELDS``.
    """
    ids = array("i", sorted(counts))
    parts = [len(ids).to_bytes(4, "little"), little(ids).tobytes()]
    for column in zip(*(counts[one] for one in ids), strict=True):
        size = next(one for one in (0, *SIZES) if max(column) < 256**one)
        parts.append(bytes([size]))
        if size:
            parts.append(little(array(SIZES[size], column)).tobytes())
    return zlib.compress(b"".join(parts), QUICKLY)


@dataclass(frozen=True, slots=True)
class Block:
    """Unpacked counts: the ids, and the columns in the order of ``FIELDS``; None is a
    column of zeros."""

    ids: array[int]
    columns: Sequence[array[int] | None]

    def counts(self) -> dict[int, Counts]:
        """All counts, by id."""
        zeros = [0] * len(self.ids)
        rows = zip(*(one or zeros for one in self.columns), strict=True)
        return dict(zip(self.ids, map(list, rows), strict=True))

    def sum_of(self, ids: Collection[int]) -> Counts:
        """The counts of some queues and links together. Ages combine to the highest."""
        chosen = [one in ids for one in self.ids]
        if not any(chosen):
            return [0] * len(FIELDS)
        if sum(chosen) == 1:
            place = chosen.index(True)
            return [column[place] if column else 0 for column in self.columns]
        sums = [
            sum(column if all(chosen) else compress(column, chosen)) if column else 0
            for column in self.columns
        ]
        ages = self.columns[OLDEST]
        sums[OLDEST] = max(compress(ages, chosen)) if ages else 0
        return sums


def unpacked(block: bytes) -> Block:
    """The counts of a packed block."""
    data = zlib.decompress(block)
    many, place = int.from_bytes(data[:4], "little"), 4
    ids = array("i")
    ids.frombytes(data[place : place + many * ids.itemsize])
    place += many * ids.itemsize
    columns: list[array[int] | None] = []
    while place < len(data):
        size = data[place]
        end = place + 1 + size * many
        columns.append(
            little(array(SIZES[size], data[place + 1 : end])) if size else None
        )
        place = end
    return Block(little(ids), columns or [None] * len(FIELDS))


def combined(counts: Sequence[Counts]) -> Counts:
    """The combined counts of several periods; at least one is needed."""
    total = counts[0]
    for one in counts[1:]:
        total = [
            *map(max, total[:SUMMED_FROM], one[:SUMMED_FROM]),
            *map(add, total[SUMMED_FROM:], one[SUMMED_FROM:]),
        ]
    return total


def little(numbers: array[int]) -> array[int]:
    """The numbers in little-endian order, or back in the machine's."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
