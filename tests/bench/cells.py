"""What is measured: a cell begins with an empty broker and ends with its check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median

from tests.bench import (
    bloat,
    depth,
    door,
    ground,
    herd,
    letters,
    pgmq,
    rabbit,
    rival,
    sizes,
)
from tests.bench.clients import Clients, Order
from tests.bench.figures import Figure
from tests.bench.slices import FASTEST, Cell, Result, Size, ratios

FLOOR = "floor"
OURS = PUT, GET, CYCLE = "put", "get, accept", "put, get, accept"
RIVAL = "procrastinate: defer, fetch, finish"
RABBIT = "RabbitMQ: publish, confirm, get, acknowledge"
PGMQ, PGMQ_SEND = "PGMQ: send, read, delete", "PGMQ: send"
RIVAL_BESIDE = "procrastinate: fetch, finish beside scheduled"
DIE = "back out 3 times, dead letter"
PUT_AND_DIE = "put, back out 3 times, dead letter"
PGMQ_DIE = "PGMQ: send, read and give back 3 times, send on, delete"
BESIDE, PLAIN = "get, accept beside delayed", "the same without"
HELD, FIRST = "get, accept under a held snapshot", "itself at first"
BATCHES = (1, 10, 100, 1000)
FAILING = (1, 100)  # batches that fail: a handler that raises, and a whole batch
COSTED = (*OURS, PGMQ, PUT_AND_DIE, PGMQ_DIE)  # work whose cost is told
RIVALS_TASKS = 30_000  # due beside those of tomorrow; more than it takes


def measure(
    clients: Clients, size: Size, say: Callable[[str], None]
) -> Iterator[Result]:
    for batch in BATCHES:
        say(f"Batches of {batch}")
        yield from floor(Cell(clients, size), batch)
    yield from failures(clients, size, say)
    say(f"Beside {size.delayed:,} delayed messages")
    yield from beside_delayed(Cell(clients, size))
    say(f"{size.held:,} messages under a held snapshot")
    yield from under_a_held_snapshot(Cell(clients, replace(size, rounds=10)))


def failures(
    clients: Clients, size: Size, say: Callable[[str], None]
) -> Iterator[Result]:
    for batch in FAILING:
        say(f"Dead letters in batches of {batch}")
        yield from dead_letters(Cell(clients, size), batch)


def measure_scale(
    clients: Clients, size: Size, database: str, say: Callable[[str], None]
) -> Iterator[Figure]:
    """What is no rate, and takes many messages."""
    say("Through the listener for AMQP 1.0")
    yield from door.measure(Cell(clients, size), database)
    say(f"{size.letters:,} dead letters, resubmitted and undone")
    yield from letters.measure(Cell(clients, size), database)
    say(f"{size.herd:,} messages due in one second")
    yield from herd.measure(database, herd=size.herd, waiting=size.delayed)
    say(f"{size.again:,} messages that come back {size.times} times")
    yield from bloat.measure(messages=size.again, times=size.times)
    say(f"Pages of {size.deep[-1]:,} messages")
    yield from depth.measure(Cell(clients, size))
    say(f"{size.through:,} messages, twice")
    yield from sizes.measure(Cell(clients, size))


def floor(cell: Cell, batch: int) -> list[Result]:
    """The public API against the raw insert; one by one, against procrastinate too."""
    seconds = cell.size.seconds
    orders = {
        FLOOR: Order("heap", batch, seconds=seconds),
        PUT: Order("put", batch, "put", seconds),
        GET: Order("get", batch, "get", seconds),
        CYCLE: Order("cycle", batch, "cycle", seconds),
    }
    if batch == 1:
        orders[RIVAL] = Order("defer_to_finish", 1, seconds=seconds)
    if rabbit.is_here():
        orders[RABBIT] = Order("rabbit_cycle", batch, seconds=seconds)
    if pgmq.is_here():
        orders[PGMQ] = Order("pgmq_cycle", batch, seconds=seconds)
        orders[PGMQ_SEND] = Order("pgmq_send", batch, seconds=seconds)
    begin(cell, "get", FASTEST[batch] * seconds)
    slices = cell.slices(orders)
    rates = {name: [one.rate for one in found] for name, found in slices.items()}
    ground.check(cell.ready)
    results = [
        Result(
            name,
            batch,
            found,
            FLOOR,
            ratios(found, rates[FLOOR]),
            slices[name] if name in COSTED else [],
        )
        for name, found in rates.items()
        if name != FLOOR
    ]
    if batch == 1:
        against = ratios(rates[CYCLE], rates[RIVAL])
        results.append(Result(CYCLE, 1, rates[CYCLE], "procrastinate", against))
    if RABBIT in rates:
        against = ratios(rates[CYCLE], rates[RABBIT])
        results.append(Result(CYCLE, batch, rates[CYCLE], "RabbitMQ", against))
    for ours, theirs in ((CYCLE, PGMQ), (PUT, PGMQ_SEND)):
        if theirs in rates:
            against = ratios(rates[ours], rates[theirs])
            results.append(Result(ours, batch, rates[ours], "PGMQ", against))
    return [Result(FLOOR, batch, rates[FLOOR], slices=slices[FLOOR]), *results]


def dead_letters(cell: Cell, batch: int) -> list[Result]:
    seconds = cell.size.seconds
    orders = {
        FLOOR: Order("heap", batch, seconds=seconds),
        DIE: Order("die", batch, "poison", seconds),
    }
    if pgmq.is_here():
        orders[PUT_AND_DIE] = Order("put_and_die", batch, "failing", seconds)
        orders[PGMQ_DIE] = Order("pgmq_die", batch, seconds=seconds)
    begin(cell, "poison", FASTEST[batch] * seconds)
    slices = cell.slices(orders)
    rates = {name: [one.rate for one in found] for name, found in slices.items()}
    ground.check(cell.ready)
    results = [
        Result(DIE, batch, rates[DIE], FLOOR, ratios(rates[DIE], rates[FLOOR])),
    ]
    if PGMQ_DIE in rates:
        mine, theirs = rates[PUT_AND_DIE], rates[PGMQ_DIE]
        results.append(Result(PGMQ_DIE, batch, theirs, slices=slices[PGMQ_DIE]))
        against = ratios(mine, theirs)
        costs = slices[PUT_AND_DIE]
        results.append(Result(PUT_AND_DIE, batch, mine, "PGMQ", against, costs))
    return results


def beside_delayed(cell: Cell) -> list[Result]:
    """A queue with delayed messages against its twin in the same tables, and against
    as many tasks that procrastinate has scheduled."""
    seconds, batch = cell.size.seconds, 1
    orders = {
        PLAIN: Order("get", batch, "plain", seconds),
        BESIDE: Order("get", batch, "beside", seconds),
        RIVAL_BESIDE: Order("fetch_to_finish", batch, seconds=seconds),
    }
    begin(cell, "plain", FASTEST[batch] * seconds)
    cell.stock("beside", FASTEST[batch] * seconds)
    each = cell.size.delayed / len(cell.clients.pipes)
    delayed = cell.do(Order("put_delayed", 1000, "beside", most=each)).messages
    rival.stock(RIVALS_TASKS, cell.size.delayed)
    ground.settle_down()
    rates = cell.rates(orders)
    ground.check(cell.ready, delayed)
    mine, theirs = rates[BESIDE], rates[RIVAL_BESIDE]
    return [
        Result(RIVAL_BESIDE, batch, theirs),
        Result(BESIDE, batch, mine, "procrastinate", ratios(mine, theirs)),
        Result(BESIDE, batch, mine, PLAIN, ratios(mine, rates[PLAIN])),
    ]


def under_a_held_snapshot(cell: Cell) -> list[Result]:
    """The rates beside the floor, before and after; between, messages come and go."""
    clients, size = len(cell.clients.pipes), cell.size
    begin(cell, "held", FASTEST[100] * size.seconds)
    with ground.held_snapshot():
        before = {batch: beside_the_floor(cell, batch) for batch in (1, 100)}
        for batch, messages in ((1, size.held_singly), (1000, size.held)):
            cell.do(Order("cycle", batch, "held", most=messages / clients))
        after = {batch: beside_the_floor(cell, batch) for batch in before}
    ground.check(cell.ready)
    first = {batch: median(floors) for batch, (_, floors) in before.items()}
    return [
        Result(HELD, batch, rates, FIRST, [one / first[batch] for one in floors])
        for batch, (rates, floors) in after.items()
    ]


def beside_the_floor(cell: Cell, batch: int) -> tuple[list[float], list[float]]:
    """The rates of gets, and their ratios to the floor."""
    seconds = cell.size.seconds
    rates = cell.rates(
        {
            FLOOR: Order("heap", batch, seconds=seconds),
            GET: Order("get", batch, "held", seconds),
        }
    )
    return rates[GET], ratios(rates[GET], rates[FLOOR])


def begin(cell: Cell, queue: str, messages: float) -> None:
    ground.clear()
    cell.stock(queue, messages)
    ground.settle_down()
