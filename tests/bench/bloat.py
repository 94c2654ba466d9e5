"""Messages that are backed out again and again: by how much the tables grow.

Nothing ends: so many messages come back so many times each. The hot tables hold as many
rows after as before; what they are larger is what nobody has vacuumed yet.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import connection

from broker.housekeeping.work import BEAT_S
from broker.queueing.put import NewMessage, put_many
from broker.tasks import vacuum_bloated
from broker.transactions.scope import unit_of_work
from tests.bench import ground
from tests.bench.body import BODY
from tests.bench.figures import Figure
from tests.make import make_queue, make_setting

HOT = ("ready", "delayed", "claim", "unit_of_work")
BATCH = 100
MOST = 3  # times what they were
DELAYS_MS = (0, 20)
ENOUGH_MB = 0.25  # what a table may come to hold that was smaller
SIZES = """
SELECT sum(pg_relation_size(relid)), sum(pg_indexes_size(relid)) FROM (
    SELECT relid FROM pg_partition_tree('broker_{0}') WHERE isleaf
    UNION SELECT 'broker_{0}'::regclass
) AS part"""


class NoUseError(Exception):
    """What a handler raises each time."""


def measure(*, messages: int, times: int) -> Iterator[Figure]:
    """The sizes of tables and indexes before and after, without a delay and with one.

    Args:
        messages: on the queue.
        times: that each is backed out.
    """
    for delay_ms in DELAYS_MS:
        queue = f"again after {delay_ms} ms"
        make_queue(queue)
        make_setting(queue, max_delivery_attempts=-1, redelivery_delay_ms=delay_ms)
        ground.clear()
        for _ in range(messages // BATCH):
            put_many([NewMessage(queue, BODY)] * BATCH)
        back_out(queue, messages)  # each table has held them all once
        ground.settle_down()
        before = sizes_mb()
        with worker():
            began = time.monotonic()
            back_out(queue, messages * times)
            took_s = time.monotonic() - began
        after = sizes_mb()
        what = f"{messages:,} backed out {times} times, {delay_ms} ms delay"
        yield Figure(f"{what}: backouts", messages * times / took_s, "messages/s")
        for table, now_mb in after.items():
            floor_mb = max(before[table], ENOUGH_MB)
            is_hot = not table.startswith("event")
            yield Figure(
                f"{what}: {table}",
                now_mb,
                "MB",
                "before",
                now_mb / floor_mb,
                most=MOST if is_hot else None,
            )
        ground.clear()


@contextmanager
def worker() -> Iterator[None]:
    """The worker's vacuum on every beat, beside what is measured."""
    ended = threading.Event()

    def vacuum() -> None:
        while not ended.is_set():
            began = time.monotonic()
            vacuum_bloated()
            ended.wait(began + BEAT_S - time.monotonic())
        connection.close()

    thread = threading.Thread(target=vacuum)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def back_out(queue: str, messages: int) -> None:
    """Take and refuse so many, as they come back."""
    while messages > 0:
        with suppress(NoUseError), unit_of_work() as work:
            taken = len(work.get(queue, min(BATCH, messages)))
            messages -= taken
            if taken:
                raise NoUseError("order 4711 has no customer")
        if not taken:
            time.sleep(0.001)


def sizes_mb() -> dict[str, float]:
    found: dict[str, float] = {}
    for table in (*HOT, "message", "event"):
        ((rows, indexes),) = ground.fetch(SIZES.format(table))
        found[table] = float(rows) / 2**20
        found[f"{table}, indexes"] = float(indexes) / 2**20
    return found
