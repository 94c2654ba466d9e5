"""What links are measured by: their messages, their loop, and the engine's cycle."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from broker.bridges.ends import opened
from broker.bridges.runner import Runner
from broker.models import Link, LinkState
from broker.queueing.put import NewMessage, put_many
from broker.transactions.scope import unit_of_work
from tests.bench import ground
from tests.broker.bridges.linking import make_link

BYTES = 1024  # of a body
MANY, FEW = 12_000, 6_000  # messages of a run
BATCHES = (1, 100, 500)
WARM = 1000  # messages before the clock starts
AHEAD = 1000  # that a shovel may have unconfirmed
ROUNDS = 3
LOOK_S = 0.01  # between looks at how far a shovel is
PATIENCE_S = 120
PERSISTENT = 2
SOURCE, TARGET, CYCLE = "links.source", "links.target", "links.cycle"
SHOVEL = "bench"


@dataclass(frozen=True)
class Work:
    """One line: what is done, and to what it is compared.

    Attributes:
        run: given the number of messages, does it once; messages a second.
    """

    name: str
    batch: int
    run: Callable[[int], float]
    against: tuple[str, int] | None = None  # another line's
    least: float | None = None  # that the ratio should be

    def messages(self, count: int) -> int:
        """Of a run; one at a time a tenth is enough."""
        return count if self.batch > 1 else max(count // 10, 2 * WARM)


def target(least: float, batch: int) -> float | None:
    """One at a time has none yet."""
    return least if batch > 1 else None


class WrongError(Exception):
    """What arrived is not what was put."""


def bodies(count: int) -> Iterator[bytes]:
    return (b"%0*d" % (BYTES, number) for number in range(count))


def as_bytes(body: str | bytes) -> bytes:
    """py-amqp decodes what it can."""
    return body.encode() if isinstance(body, str) else bytes(body)


def check(found: list[bytes], count: int) -> None:
    """
    Raises:
        WrongError: a message is missing, or there twice, or in another's place.
    """
    if found != list(bodies(count)):
        raise WrongError(f"{len(found)} of {count} arrived, or not in their order.")


# Links, by the loop of their runner.


def carried(link: Link, count: int) -> float:
    """Run a link until it has carried so many messages; messages a second."""
    link = Link.objects.select_related(
        *("bridge", "source_factory", "target_factory", "source", "target")
    ).get(pk=link.pk)
    runner = Runner(link, 1, (), LinkState.STARTED)
    done, began, before = 0, 0.0, 0
    ends = opened(runner.carrier)
    try:
        until = time.monotonic() + PATIENCE_S
        while done < count and time.monotonic() < until:
            done += sum(runner.carry(ends, road) for road in runner.roads(ends))
            runner.keep_house(ends, is_idle=False)
            if not began and done >= WARM:
                began, before = time.perf_counter(), done
        return (done - before) / (time.perf_counter() - began)
    finally:
        ends.close()


def fill(count: int) -> None:
    """Put the messages of a run on the source of the database that is connected."""
    put_many([NewMessage(SOURCE, body) for body in bodies(count)])
    ground.settle_down()


def arrived() -> list[bytes]:
    """What is at the target, in its order."""
    return [
        bytes(body)
        for (body,) in ground.fetch(
            "SELECT message.body FROM broker_ready AS ready"
            " JOIN broker_queue AS queue ON queue.id = ready.queue_id"
            " JOIN broker_message AS message ON message.id = ready.id"
            f" WHERE queue.name = '{TARGET}' ORDER BY ready.pos"
        )
    ]


def here() -> list[Work]:
    """Two queues of one database, and the engine without a link."""

    def run(link: Link) -> Callable[[int], float]:
        def once(count: int) -> float:
            fill(count)
            rate = carried(link, count)
            check(arrived(), count)
            return rate

        return once

    def cycles(batch: int) -> Callable[[int], float]:
        return lambda count: cycled(batch, count)

    def between(batch: int) -> Link:
        return make_link(f"here{batch}", source=SOURCE, target=TARGET, batch=batch)

    name = "the engine's cycle"
    return [
        *(Work(name, batch, cycles(batch)) for batch in BATCHES),
        *(
            Work(
                "Backout → Backout",
                batch,
                run(between(batch)),
                (name, batch),
                target(0.7, batch),
            )
            for batch in BATCHES
        ),
    ]


def cycled(batch: int, count: int) -> float:
    """Put, get and accept, with the order checked on the way."""
    every = list(bodies(count))
    began, warm = 0.0, min(WARM, count // 2)
    for start in range(0, count, batch):
        if not began and start >= warm:
            began, warm = time.perf_counter(), start
        some = every[start : start + batch]
        put_many([NewMessage(CYCLE, body) for body in some])
        with unit_of_work() as work:
            got = work.get(CYCLE, batch)
        if [bytes(one.body) for one in got] != some:
            raise WrongError("The engine gave others than were put.")
    return (count - warm) / (time.perf_counter() - began)


# RabbitMQ, and its shovel.
