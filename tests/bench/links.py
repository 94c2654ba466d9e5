"""How fast links carry, beside RabbitMQ's shovel and the engine's own cycle.

A link is driven by the loop of its runner, in this process. Of each run the first
messages warm up, and are not in the figure; nor is what connecting takes. After each
run everything at the target is read, and must be what was put at the source, in its
order.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import amqp
from django.db import connection

from broker import partitions
from broker.bridges.ends import opened
from broker.bridges.runner import Runner
from broker.models import Link, LinkState, Queue
from broker.put import NewMessage, put_many
from broker.unit_of_work import unit_of_work
from tests.bench import ground, machine, report
from tests.broker.bridges import rabbitmq_node
from tests.broker.bridges.linking import make_bridge, make_factory, make_link
from tests.broker.bridges.other_backout import OtherBackout
from tests.console.ports import kept_port
from tests.make import make_queue

BYTES = 1024  # of a body
MANY, FEW = 12_000, 6_000  # messages of a run
WARM = 1000  # messages before the clock starts
AHEAD = 1000  # that a shovel may have unconfirmed
ROUNDS = 3
LOOK_S = 0.01  # between looks at how far a shovel is
PATIENCE_S = 120
PERSISTENT = 2
SOURCE, TARGET, CYCLE = "links.source", "links.target", "links.cycle"
SHOVEL = "bench"

HEAD = ("work", "batch", "messages/s", "against", "ratio", "of runs", "target", "")
TITLE = "Bridge links"
PROSE = """\
Written by `make bench ARGS="--links --write"`. Durable messages of {bytes:,} bytes,
{count:,} a run, of which the first {warm:,} warm up. Each line is the median of
{rounds} runs, and so are the ratios, each to the run of the same round. A link is
driven by its runner's loop, in one process with one thread. After each run all that is
at the target is read, and is what was put, in its order, once.

```
{table}
```

- **shovel**: RabbitMQ's own, from one queue to another of the node that the links use,
  `on-confirm`, with a prefetch of {ahead:,}. It runs inside RabbitMQ, and parses no
  message. Links with RabbitMQ have no transactions; each batch is confirmed at its
  target, and committed or acknowledged at its source, before the next one.
- **the engine's cycle**: put, get and accept in one process, three commits a batch,
  with no link around. A link does as much, and writes the journal of what it carried.
- **another Backout**: a web process with a database of its own on the same server. The
  link is transacted: each batch is prepared there, decided here, and committed there.

{machine}"""


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


class WrongError(Exception):
    """What arrived is not what was put."""


def measure(
    say: Callable[[str], None], *, write: bool = False, count: int = MANY
) -> None:
    """Print the table; on request, write it."""
    logging.getLogger("broker").setLevel(logging.WARNING)
    say("Making a database, another Backout, and a RabbitMQ")
    with ground.own_database(), ExitStack() as stack:
        for queue in (SOURCE, TARGET, CYCLE):
            make_queue(queue)
        other = stack.enter_context(another_backout())
        node = stack.enter_context(a_rabbitmq())
        described = machine.describe()
        works = [*here(), *with_rabbitmq(node), *with_another(other)]
        rates: dict[tuple[str, int], list[float]] = {}
        for number in range(ROUNDS):
            for work in works:
                say(f"Round {number + 1}: {work.name}, {work.batch}")
                ground.clear()
                ground.settle_down()
                rates.setdefault((work.name, work.batch), []).append(work.run(count))
        described.append(machine.load())
        text = report.aligned([HEAD, *(line(work, rates) for work in works)])
    print("", *described, "", text, sep="\n")
    if write:
        said = PROSE.format(
            table=text,
            machine="\n".join(f"- {one}" for one in described),
            bytes=BYTES, count=count, warm=WARM, rounds=ROUNDS, ahead=AHEAD,
        )  # fmt: skip
        report.write_part(TITLE, said)


def line(work: Work, rates: dict[tuple[str, int], list[float]]) -> tuple[str, ...]:
    mine = rates[work.name, work.batch]
    rate = f"{median(mine):,.0f}"
    if work.against is None:
        return (work.name, f"{work.batch}", rate, "", "", "", "", "")
    theirs = rates[work.against]
    ratios = [one / other for one, other in zip(mine, theirs, strict=True)]
    ratio = median(ratios)
    return (
        work.name,
        f"{work.batch}",
        rate,
        work.against[0],
        f"{ratio:.2f}",
        report.spread(ratios),
        "" if work.least is None else f"≥ {work.least}",
        "" if work.least is None else report.verdict(ratio, work.least),
    )


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
        *(Work(name, batch, cycles(batch)) for batch in (100, 500)),
        *(
            Work("Backout → Backout", batch, run(between(batch)), (name, batch), 0.7)
            for batch in (100, 500)
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


@contextmanager
def a_rabbitmq() -> Iterator[rabbitmq_node.Node]:
    with TemporaryDirectory(prefix="links") as folder:
        node = rabbitmq_node.start(Path(folder), plugins=["rabbitmq_shovel"])
        try:
            yield node
        finally:
            node.kill()


class Rabbit:
    """A connection that fills and empties queues, and looks at them."""

    def __init__(self, node: rabbitmq_node.Node) -> None:
        self.node = node

    @contextmanager
    def channel(self) -> Iterator[amqp.Channel]:
        line = amqp.Connection(f"{rabbitmq_node.HOST}:{self.node.port}")
        line.connect()
        try:
            channel = line.channel()
            for queue in (SOURCE, TARGET):
                channel.queue_declare(queue, durable=True, auto_delete=False)
            yield channel
        finally:
            line.close()

    def clear(self) -> None:
        with self.channel() as channel:
            for queue in (SOURCE, TARGET):
                channel.queue_purge(queue)

    def fill(self, count: int) -> None:
        with self.channel() as channel:
            for body in bodies(count):
                message = amqp.Message(body, delivery_mode=PERSISTENT)
                channel.basic_publish(message, routing_key=SOURCE)
            until = time.monotonic() + PATIENCE_S
            while self.depth(channel, SOURCE) < count and time.monotonic() < until:
                time.sleep(LOOK_S)

    def depth(self, channel: amqp.Channel, queue: str) -> int:
        return int(channel.queue_declare(queue, passive=True).message_count)

    def check(self, count: int) -> None:
        """Take all that is at the target."""
        found: list[bytes] = []
        with self.channel() as channel:
            until = time.monotonic() + PATIENCE_S
            while len(found) < count and time.monotonic() < until:
                if message := channel.basic_get(TARGET, no_ack=True):
                    found.append(as_bytes(message.body))
            if self.depth(channel, TARGET):
                raise WrongError("More arrived than were sent.")
        check(found, count)

    def shovelled(self, count: int) -> float:
        """From the first thousand that arrives until all are there."""
        said = {
            "src-protocol": "amqp091", "src-uri": self.node.url, "src-queue": SOURCE,
            "src-prefetch-count": AHEAD, "ack-mode": "on-confirm",
            "dest-protocol": "amqp091", "dest-uri": self.node.url,
            "dest-queue": TARGET, "dest-add-forward-headers": False,
        }  # fmt: skip
        with self.channel() as channel:
            self.node.control("set_parameter", "shovel", SHOVEL, json.dumps(said))
            try:
                began, before = self.reached(channel, WARM)
                ended, after = self.reached(channel, count)
            finally:
                self.node.control("clear_parameter", "shovel", SHOVEL)
        return (after - before) / (ended - began)

    def reached(self, channel: amqp.Channel, count: int) -> tuple[float, int]:
        until = time.monotonic() + PATIENCE_S
        while (depth := self.depth(channel, TARGET)) < count:
            if time.monotonic() > until:
                raise WrongError(f"The shovel moved {depth} of {count} in time.")
            time.sleep(LOOK_S)
        return time.perf_counter(), depth


def with_rabbitmq(node: rabbitmq_node.Node) -> list[Work]:
    rabbit = Rabbit(node)
    there = make_factory(make_bridge(), "rabbit", "rabbitmq", url=node.url)

    def shovel(count: int) -> float:
        rabbit.clear()
        rabbit.fill(count)
        rate = rabbit.shovelled(count)
        rabbit.check(count)
        return rate

    def out_of(batch: int) -> Callable[[int], float]:
        link = make_link(
            f"from-rabbit{batch}", source=SOURCE, target=TARGET, source_factory=there,
            batch=batch, transacted=False,
        )  # fmt: skip

        def run(count: int) -> float:
            rabbit.clear()
            rabbit.fill(count)
            rate = carried(link, count)
            check(arrived(), count)
            return rate

        return run

    def into(batch: int) -> Callable[[int], float]:
        link = make_link(
            f"to-rabbit{batch}", source=SOURCE, target=TARGET, target_factory=there,
            batch=batch, transacted=False,
        )  # fmt: skip

        def run(count: int) -> float:
            rabbit.clear()
            fill(count)
            rate = carried(link, count)
            rabbit.check(count)
            return rate

        return run

    name = ("shovel, RabbitMQ → RabbitMQ", AHEAD)
    works = [Work(*name, shovel)]
    for batch in (100, 500):
        works += [
            Work("RabbitMQ → Backout", batch, out_of(batch), name, 0.7),
            Work("Backout → RabbitMQ", batch, into(batch), name, 0.7),
        ]
    return works


# Another Backout, with a database of its own.


@contextmanager
def another_backout() -> Iterator[OtherBackout]:
    with TemporaryDirectory(prefix="links") as var, kept_port() as port:
        name = f"{connection.settings_dict['NAME']}_other"
        other = OtherBackout(Path(var), port, name)
        other.make()
        try:
            with other.instead():  # it is a copy of ours, or has nothing
                for queue in (SOURCE, TARGET):
                    if not Queue.objects.filter(name=queue).exists():
                        make_queue(queue)
            other.start()
            other.secret = other.credential("bridge")
            yield other
        finally:
            other.stop()


def empty(other: OtherBackout) -> None:
    """Begin anew there, too."""
    other.sql(f"TRUNCATE {', '.join(f'broker_{one}' for one in ground.HOT)} CASCADE")
    with other.instead():
        partitions.make_ahead()


def with_another(other: OtherBackout) -> list[Work]:
    there = make_factory(
        make_bridge(), "other", "backout", url=other.url, password=other.secret
    )

    def into(batch: int) -> Callable[[int], float]:
        link = make_link(
            f"to-other{batch}", source=SOURCE, target=TARGET, target_factory=there,
            batch=batch,
        )  # fmt: skip

        def run(count: int) -> float:
            empty(other)
            fill(count)
            rate = carried(link, count)
            with other.instead():
                check(arrived(), count)
            return rate

        return run

    def out_of(batch: int) -> Callable[[int], float]:
        link = make_link(
            f"from-other{batch}", source=SOURCE, target=TARGET, source_factory=there,
            batch=batch,
        )  # fmt: skip

        def run(count: int) -> float:
            empty(other)
            with other.instead():
                fill(count)
            rate = carried(link, count)
            check(arrived(), count)
            return rate

        return run

    works = []
    for batch in (100, 500):
        cycle = ("the engine's cycle", batch)
        least = 0.25
        works += [
            Work("Backout → another Backout", batch, into(batch), cycle, least),
            Work("another Backout → Backout", batch, out_of(batch), cycle, least),
        ]
    return works
