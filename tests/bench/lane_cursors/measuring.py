"""Both storages, the public API and PGMQ: rates, and what they take of processors."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from statistics import median

import psycopg

from broker.queueing import processes
from tests.bench import ground, machine, pgmq, report
from tests.bench.clients import Clients, Order, Slice, clients
from tests.bench.lane_cursors import checks, storage

BATCHES, DEPTHS, BESIDE = (1, 100, 1000), (1_000, 100_000, 2_000_000), 1_000_000
SECONDS, ROUNDS, HELD_S, PART_S = 0.4, 10, 60.0, 5.0
# Each system has a queue of its own, and puts in its own way.
SYSTEMS = {"API": "", "engine": "engine_", "lanes": "lanes_", "PGMQ": "pgmq_"}
QUEUES = {"API": "cycle", "engine": "plain", "lanes": "held", "PGMQ": pgmq.PLAIN}
PUTS = {"API": "put", "PGMQ": "pgmq_send"}
HEAD = (
    *("work", "system", "batch", "clients", "messages/s", "of PGMQ", "of engine"),
    *("client µs", "server µs", "of PGMQ", "of engine", "WAL bytes"),
)
Say = Callable[[str], None]
Found = dict[str, list[Slice]]
Row = tuple[str, ...]


def measure(say: Say) -> None:
    """Print everything; one table for what runs in turn, one for what does not."""
    rows: list[Row] = []
    with ground.own_database() as database:
        storage.install()
        say("Checks of the other storage")
        checks.run()
        described = machine.describe()
        for count in (1, 8):
            with clients(count, database) as crowd:
                for batch in BATCHES:
                    say(f"Cycles of {batch}, {count} clients")
                    rows += cells(crowd, "cycle", batch)
        for count in (2, 8):
            with clients(count, database) as crowd:
                for batch in (1, 100):
                    say(f"{count} consumers of one queue, batches of {batch}")
                    rows += cells(crowd, "take", batch)
        with clients(1, database) as crowd:
            for depth in DEPTHS:
                say(f"{depth:,} ready")
                rows += deep(crowd, depth)
            say(f"Beside {BESIDE:,} delayed")
            rows += beside_delayed(crowd)
            say("Beside a transaction of somebody else")
            parts = list(beside_a_writer(crowd))
            for batch in (1, 100):
                for system in ("engine", "lanes", "PGMQ"):
                    say(f"{system}, batches of {batch}, under a held snapshot")
                    parts += held(crowd, system, batch)
    print("", *described, machine.load(), "", sep="\n")
    print(report.aligned([HEAD, *rows]), "", report.aligned(parts), sep="\n")


def present() -> list[str]:
    return [one for one in SYSTEMS if one != "PGMQ" or pgmq.is_here()]


def clear() -> None:
    ground.clear()
    storage.clear()


def stock(crowd: Clients, system: str, messages: int, *, short: bool = False) -> None:
    put = PUTS.get(system, f"{SYSTEMS[system]}put{'_short' if short else ''}")
    each = messages / len(crowd.pipes)
    crowd.do(Order(put, min(1000, messages), QUEUES[system], most=each))


def cells(crowd: Clients, work: str, batch: int) -> Iterator[Row]:
    """All systems in turn, with enough on each queue that no get finds too little."""
    clear()
    count = len(crowd.pipes)
    for system in present():
        stock(crowd, system, 4 * count * batch)
    ground.settle_down()
    each = {1: 300, 100: 4_000}.get(batch, 0) if work == "take" else 0
    found = turns(crowd, work, batch, present(), each=each)
    checks.left()
    yield from lines(work, batch, count, found)


def turns(
    crowd: Clients, work: str, batch: int, systems: list[str], *, each: int = 0
) -> Found:
    """Slices of one kind of work; with ``each`` messages of each client, which are put
    before, or as long as a slice."""
    found: Found = {system: [] for system in systems}
    for number in range(ROUNDS + 1):
        for system in random.sample(systems, len(systems)):
            name = "get" if (system, work) == ("API", "take") else work
            size = {"most": each} if each else {"seconds": SECONDS}
            if each:
                stock(crowd, system, each * len(crowd.pipes))
            order = Order(SYSTEMS[system] + name, batch, QUEUES[system], **size)
            done = crowd.do(order)
            if number:  # the first round warms up
                found[system].append(done)
    return found


def lines(work: str, batch: int, count: int, found: Found) -> Iterator[Row]:
    def ratio(system: str, other: str, of: Callable[[Slice], float]) -> str:
        pairs = zip(found[system], found.get(other, []), strict=False)
        ratios = [of(this) / of(that) for this, that in pairs]
        return f"{median(ratios):.2f}" if ratios and system != other else ""

    for system, slices in found.items():
        yield (
            *(work, system, str(batch), str(count)),
            f"{median(one.rate for one in slices):,.0f}",
            *(ratio(system, other, lambda one: one.rate) for other in OTHERS),
            f"{median(1e6 * one.spent.client_s / one.messages for one in slices):.1f}",
            f"{median(1e6 * one.spent.server_s / one.messages for one in slices):.1f}",
            *(ratio(system, other, cheapness) for other in OTHERS),
            f"{median(one.spent.wal / one.messages for one in slices):,.0f}",
        )


OTHERS = ("PGMQ", "engine")


def cheapness(done: Slice) -> float:
    """Messages for a second of processors, the client's and the server's."""
    return done.messages / (done.spent.client_s + done.spent.server_s)


def deep(crowd: Clients, depth: int) -> Iterator[Row]:
    clear()
    for system in ("engine", "lanes"):
        stock(crowd, system, depth, short=True)
    ground.settle_down()
    for batch in (1, 100):
        found = turns(crowd, "cycle", batch, ["engine", "lanes"])
        yield from lines(f"cycle, {depth:,} ready", batch, 1, found)


def beside_delayed(crowd: Clients) -> Iterator[Row]:
    clear()
    for system in ("engine", "lanes"):
        order = Order(f"{system}_put_delayed", 1000, QUEUES[system], most=BESIDE)
        crowd.do(order)
        stock(crowd, system, 1_000)
    ground.settle_down()
    for batch in (1, 100):
        found = turns(crowd, "cycle", batch, ["engine", "lanes"])
        yield from lines(f"cycle, beside {BESIDE:,} delayed", batch, 1, found)


def beside_a_writer(crowd: Clients) -> Iterator[Row]:
    """What is taken while a transaction of another database has written, and waits."""
    yield "what is taken of 10,000 put beside an open transaction elsewhere", "", ""
    with elsewhere() as line:
        for system in ("engine", "lanes"):
            clear()
            line.execute("SELECT pg_current_xact_id()")
            stock(crowd, system, 10_000)
            order = Order(f"{SYSTEMS[system]}take", 100, QUEUES[system], most=10_000)
            yield system, f"{crowd.do(order).messages:,}", ""
            line.rollback()


def elsewhere() -> psycopg.Connection:
    with processes.connect() as line:
        here = line.info
        return psycopg.connect(here.dsn, dbname="postgres", password=here.password)


def held(crowd: Clients, system: str, batch: int) -> Iterator[Row]:
    """Parts of the same work before, under and after a snapshot that is held."""
    clear()
    stock(crowd, system, 4 * batch)
    ground.settle_down()
    order = Order(f"{SYSTEMS[system]}cycle", batch, QUEUES[system], PART_S)
    yield f"{system}, batch {batch}", "messages/s", "µs of processors"
    crowd.do(order)
    yield "before", *costs([crowd.do(order)])
    with ground.held_snapshot():
        parts = [crowd.do(order) for _ in range(int(HELD_S / PART_S))]
    yield "in its first part", *costs(parts[:1])
    yield "in its last part", *costs(parts[-1:])
    yield "messages in all", f"{sum(one.messages for one in parts):,}", ""
    yield "after", *costs([crowd.do(order)])


def costs(slices: list[Slice]) -> tuple[str, str]:
    rate = median(one.rate for one in slices)
    spent = median(1e6 / cheapness(one) for one in slices)
    return f"{rate:,.0f}", f"{spent:.1f}"
