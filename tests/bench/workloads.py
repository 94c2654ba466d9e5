"""What a client does, a batch at a time: the broker's public API, and the raw floor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache

import psycopg

from broker.client import consumer
from broker.queueing import processes
from broker.queueing.put import NewMessage, put_many
from broker.transactions.scope import unit_of_work
from tests.bench import pgmq, rabbit, rival
from tests.bench.body import BODY

GRAVEYARD = "graveyard"
ATTEMPTS = 3  # of a message before it is a dead letter
TOMORROW = datetime.now(UTC) + timedelta(days=1)
LAPS = 20  # units of work of one consumer loop
HEAP = "INSERT INTO bench_heap (body) SELECT unnest(%b::bytea[])"


class PoisonError(Exception):
    """What a handler raises that cannot do its work."""


def heap(_: str, batch: int) -> int:
    """The floor: the same bytes, committed, into a table with no index."""
    floor().execute(HEAP, [[BODY] * batch], prepare=True)
    return batch


@cache
def floor() -> psycopg.Connection:
    return processes.connect()


def put(queue: str, batch: int) -> int:
    return len(put_many([NewMessage(queue, BODY) for _ in range(batch)]))


def put_short(queue: str, batch: int) -> int:
    return len(put_many([NewMessage(queue, b"deep") for _ in range(batch)]))


def put_delayed(queue: str, batch: int) -> int:
    messages = [NewMessage(queue, BODY, deliver_at=TOMORROW) for _ in range(batch)]
    return len(put_many(messages))


def get(queue: str, batch: int) -> int:
    """Take and accept a unit of work; 0 when nothing is left."""
    with unit_of_work() as work:
        return len(work.get(queue, batch))


def cycle(queue: str, batch: int) -> int:
    """As many are accepted as are put, also when another client takes some of them."""
    put(queue, batch)
    taken = 0
    while taken < batch:
        taken += get(queue, batch - taken)
    return taken


def loop(queue: str, batch: int) -> int:
    """What ``cycle`` does, in a consumer loop that is begun and left."""
    done = 0
    put(queue, batch)
    with consumer(queue, batch=batch, timeout_s=0) as deliveries:
        for done, _ in enumerate(deliveries, 1):
            if done == LAPS * batch:
                break
            if done % batch == 0:
                put(queue, batch)
    return done


def die(queue: str, batch: int) -> int:
    """Back a batch out until it is dead letters; what comes back is next again."""
    taken = 0
    for _ in range(ATTEMPTS):
        with suppress(PoisonError), unit_of_work() as work:
            taken = len(work.get(queue, batch))
            raise PoisonError("order 4711 has no customer")
    return taken


def fail_in_loop(queue: str, batch: int) -> int:
    """What ``put_and_die`` does, in a consumer loop that is begun and left."""
    put(queue, batch)
    gone = 0
    with consumer(queue, batch=batch, timeout_s=0) as deliveries:
        for given, _ in enumerate(deliveries, 1):
            if given % batch == 0:
                deliveries.back_out(PoisonError("order 4711 has no customer"))
            if given % (batch * ATTEMPTS) == 0:
                gone += batch
                if gone == LAPS * batch:
                    break
                put(queue, batch)
    return gone


def die_at_once(queue: str, batch: int) -> int:
    """Back a batch out of a queue that allows one attempt."""
    taken = 0
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


def fetch_to_finish(queue: str, batch: int) -> int:
    """The half of it that takes; it knows one queue."""
    for _ in range(batch):
        rival.finish(rival.fetch())
    return batch


def pgmq_send(_: str, batch: int) -> int:
    return pgmq.send(pgmq.PLAIN, batch)


def pgmq_cycle(_: str, batch: int) -> int:
    pgmq.cycle(batch)
    return batch


def pgmq_archive(_: str, batch: int) -> int:
    pgmq.cycle(batch, pgmq.archive)
    return batch


def put_and_die(queue: str, batch: int) -> int:
    put(queue, batch)
    return die(queue, batch)


def pgmq_die(_: str, batch: int) -> int:
    return pgmq.die(batch, ATTEMPTS)


def rabbit_cycle(_: str, batch: int) -> int:
    rabbit.cycle(batch)
    return batch


def rabbit_die(_: str, batch: int) -> int:
    return rabbit.die(batch, ATTEMPTS)


WORKLOADS: dict[str, Callable[[str, int], int]] = {
    work.__name__: work
    for work in (
        *(heap, put, put_short, put_delayed, get, cycle, loop, die, die_at_once),
        *(defer_to_finish, fetch_to_finish, rabbit_cycle, rabbit_die),
        *(pgmq_send, pgmq_cycle, pgmq_archive, pgmq_die, put_and_die),
        fail_in_loop,
    )
}
# By how much each message that is done changes what is ready on the workload's queue.
CHANGES = {"put": 1, "put_short": 1, "get": -1, "die": -1, "die_at_once": -1}
