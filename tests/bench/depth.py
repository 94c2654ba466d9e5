"""Browsing a queue of millions: what a page costs at its head, and anywhere."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from statistics import median

from broker.models import Place, Queue, Ready
from broker.queueing import browse
from tests.bench import ground
from tests.bench.clients import Order
from tests.bench.figures import Figure
from tests.bench.slices import Cell

PAGES = 200
DEEP = 2  # what a page anywhere may cost, in pages at the head


def measure(cell: Cell) -> Iterator[Figure]:
    ground.clear()
    cell.ready.clear()
    queue_id = Queue.objects.get(name="deep").pk
    for deep in cell.size.deep:
        missing = deep - cell.ready["deep"]
        share = missing / len(cell.clients.pipes)
        cell.do(Order("put_short", 1000, "deep", most=share))
        ground.settle_down()
        head_ms = median(page_ms(queue_id, "") for _ in range(PAGES))
        there = Ready.objects.filter(queue_id=queue_id).order_by("pos")
        first, last = there[0].pos, there.reverse()[0].pos
        cursors = [f"4.{random.randint(first, last)}" for _ in range(PAGES)]
        anywhere_ms = median(page_ms(queue_id, cursor) for cursor in cursors)
        yield Figure(f"first page of {deep:,}", head_ms, "ms")
        yield Figure(
            f"any page of {deep:,}",
            anywhere_ms,
            "ms",
            "the first page",
            anywhere_ms / head_ms,
            most=DEEP,
        )


def page_ms(queue_id: int, cursor: str) -> float:
    began = time.perf_counter()
    browse.browse(queue_id, Place.READY, after=cursor)
    return (time.perf_counter() - began) * 1000
