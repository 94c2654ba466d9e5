"""What is measured: a cell begins with an empty broker and ends with its check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.bench import ground
from tests.bench.clients import Clients, Order
from tests.bench.slices import FASTEST, Cell, Result, Size, ratios

FLOOR = "floor"
PUT, GET, CYCLE = "put", "get, accept", "put, get, accept"
RIVAL = "procrastinate: defer, fetch, finish"
DIE = "back out 3 times, dead letter"
BESIDE, PLAIN = "get, accept beside delayed", "the same without"
HELD, FIRST = "get, accept under a held snapshot", "its first second"
BATCHES = (1, 10, 100, 1000)


def measure(
    clients: Clients, size: Size, say: Callable[[str], None]
) -> Iterator[Result]:
    for batch in BATCHES:
        say(f"Batches of {batch}")
        yield from floor(Cell(clients, size), batch)
    say("Dead letters")
    yield from dead_letters(Cell(clients, size))
    say(f"Beside {size.delayed:,} delayed messages")
    yield from beside_delayed(Cell(clients, size))
    say(f"{size.held:,} messages under a held snapshot")
    yield from under_a_held_snapshot(Cell(clients, size))


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
    begin(cell, "get", FASTEST[batch] * seconds)
    rates = cell.rates(orders)
    ground.check(cell.ready)
    results = [
        Result(name, batch, slices, FLOOR, ratios(slices, rates[FLOOR]))
        for name, slices in rates.items()
        if name != FLOOR
    ]
    if batch == 1:
        against = ratios(rates[CYCLE], rates[RIVAL])
        results.append(Result(CYCLE, 1, rates[CYCLE], "procrastinate", against))
    return [Result(FLOOR, batch, rates[FLOOR]), *results]


def dead_letters(cell: Cell) -> list[Result]:
    seconds, batch = cell.size.seconds, 100
    orders = {
        FLOOR: Order("heap", batch, seconds=seconds),
        DIE: Order("die", batch, "poison", seconds),
    }
    begin(cell, "poison", FASTEST[batch] * seconds)
    rates = cell.rates(orders)
    ground.check(cell.ready)
    against = ratios(rates[DIE], rates[FLOOR])
    return [Result(DIE, batch, rates[DIE], FLOOR, against)]


def beside_delayed(cell: Cell) -> list[Result]:
    """A queue with delayed messages against its twin in the same tables."""
    seconds, batch = cell.size.seconds, 1
    orders = {
        PLAIN: Order("get", batch, "plain", seconds),
        BESIDE: Order("get", batch, "beside", seconds),
    }
    begin(cell, "plain", FASTEST[batch] * seconds)
    cell.stock("beside", FASTEST[batch] * seconds)
    each = cell.size.delayed / len(cell.clients.pipes)
    delayed = cell.do(Order("put_delayed", 1000, "beside", most=each)).messages
    ground.settle_down()
    rates = cell.rates(orders)
    ground.check(cell.ready, delayed)
    against = ratios(rates[BESIDE], rates[PLAIN])
    return [Result(BESIDE, batch, rates[BESIDE], PLAIN, against)]


def under_a_held_snapshot(cell: Cell) -> list[Result]:
    """The rates of one second before and after; between them, messages come and go."""
    clients = len(cell.clients.pipes)
    gets = [Order("get", batch, "held", seconds=1) for batch in (1, 100)]
    depth = FASTEST[100] * clients
    begin(cell, "held", depth)
    for get in gets:
        cell.do(replace(get, seconds=cell.size.seconds))
    with ground.held_snapshot():
        first = [cell.do(get).rate for get in gets]
        singly, all_ = cell.size.held_singly, cell.size.held
        cell.do(Order("cycle", 1, "held", most=singly / clients))
        cell.do(Order("cycle", 1000, "held", most=(all_ - singly) / clients))
        cell.stock("held", depth)
        last = [cell.do(get).rate for get in gets]
    ground.check(cell.ready)
    return [
        Result(HELD, get.batch, [after], FIRST, [after / before])
        for get, before, after in zip(gets, first, last, strict=True)
    ]


def begin(cell: Cell, queue: str, messages: float) -> None:
    ground.clear()
    cell.stock(queue, messages)
    ground.settle_down()
