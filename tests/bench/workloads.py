"""What a client does, a batch at a time: the broker's public API, and the raw floor."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache

import psycopg

from broker import owner
from broker.put import NewMessage, put_many
from broker.unit_of_work import unit_of_work
from tests.bench import rival

BODY = secrets.token_hex(256).encode()  # 512 bytes that nothing can compress
GRAVEYARD = "graveyard"
ATTEMPTS = 3  # of a message before it is a dead letter
TOMORROW = datetime.now(UTC) + timedelta(days=1)
HEAP = "INSERT INTO bench_heap (body) SELECT unnest(%b::bytea[])"


class PoisonError(Exception):
    """What a handler raises that cannot do its work."""


def heap(_: str, batch: int) -> int:
    """The floor: the same bytes, committed, into a table with no index."""
    floor().execute(HEAP, [[BODY] * batch], prepare=True)
    return batch


@cache
def floor() -> psycopg.Connection:
    return owner.connect()


def put(queue: str, batch: int) -> int:
    return len(put_many([NewMessage(queue, BODY) for _ in range(batch)]))


def put_delayed(queue: str, batch: int) -> int:
    messages = [NewMessage(queue, BODY, deliver_at=TOMORROW) for _ in range(batch)]
    return len(put_many(messages))


def get(queue: str, batch: int) -> int:
    """Take and accept a unit of work; 0 when nothing is left."""
    with unit_of_work() as work:
        return len(work.get(queue, batch))


def cycle(queue: str, batch: int) -> int:
    put(queue, batch)
    return get(queue, batch)


def die(queue: str, batch: int) -> int:
    """Back a batch out until it is dead letters; what comes back is next again."""
    taken = 0
    for _ in range(ATTEMPTS):
        with suppress(PoisonError), unit_of_work() as work:
            taken = len(work.get(queue, batch))
            raise PoisonError("order 4711 has no customer")
    return taken


def defer_to_finish(queue: str, batch: int) -> int:
    """Procrastinate's whole life of a task, one at a time: it takes one a call."""
    for _ in range(batch):
        rival.defer(BODY.decode())
        rival.finish(rival.fetch())
    return batch


WORKLOADS: dict[str, Callable[[str, int], int]] = {
    work.__name__: work
    for work in (heap, put, put_delayed, get, cycle, die, defer_to_finish)
}
# By how much each message that is done changes what is ready on the workload's queue.
CHANGES = {"put": 1, "get": -1, "die": -1}
