"""How large the hot tables are after millions of messages came and went."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

from tests.bench import ground
from tests.bench.clients import Order
from tests.bench.figures import Figure
from tests.bench.slices import Cell

HOT = ("ready", "delayed", "claim", "unit_of_work", "owner")
SMALL_MB = 40  # of all hot tables together


def measure(cell: Cell) -> Iterator[Figure]:
    """Without and with somebody who reads all the while."""
    many = cell.size.through
    for words, reader, most in (
        ("", nullcontext, SMALL_MB),
        (", a snapshot held open", ground.held_snapshot, None),
    ):
        ground.clear()
        cell.ready.clear()
        ground.settle_down()
        with reader():
            share = many / len(cell.clients.pipes)
            cell.do(Order("cycle", 1000, "cycle", most=share))
            size = sum(ground.size_mb(f"broker_{table}") for table in HOT)
        work = f"hot tables after {many:,} messages{words}"
        yield Figure(work, size, "MB", most=most)
        ground.check(cell.ready)
