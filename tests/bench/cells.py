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
from tests.bench.clients import Clients, Order, Slice
from tests.bench.clients import clients as clients_of
from tests.bench.figures import Figure
from tests.bench.slices import FASTEST, Cell, Result, Size, alone, beside, ratios

FLOOR = "floor"
OURS = PUT, GET, CYCLE = "put", "get, accept", "put, get, accept"
LOOP = "put, consumer loop"
RIVAL = "procrastinate: defer, fetch, finish"
RABBIT = "RabbitMQ: publish, confirm, get, acknowledge"
PGMQ, PGMQ_SEND = "PGMQ: send, read, delete", "PGMQ: send"
PGMQ_ARCHIVE = "PGMQ: send, read, archive"
RIVAL_BESIDE = "procrastinate: fetch, finish beside scheduled"
DIE = "back out 3 times, dead letter"
PUT_AND_DIE = "put, back out 3 times, dead letter"
LOOP_AND_DIE = "put, consumer loop that fails 3 times, dead letter"
PGMQ_DIE = "PGMQ: send, read and give back 3 times, send on, delete"
RABBIT_DIE = "RabbitMQ: publish, confirm, refuse 3 times to the dead letters"
BESIDE, PLAIN = "get, accept beside delayed", "the same without"
HELD, FIRST = "get, accept under a held snapshot", "itself at first"
HELD_WITH_ID = "get, accept under an open transaction with an id"
BATCHES = (1, 10, 100, 1000)
FAILING = (1, 100)  # batches that fail: a handler that raises, and a whole batch
AT_ONCE = 8  # clients of one cell, whatever the others have
PEERS = {  # what is compared to whom, and to which work of theirs; all, to the floor
    PUT: {"PGMQ": PGMQ_SEND},
    CYCLE: {
        "procrastinate": RIVAL,
        "RabbitMQ": RABBIT,
        "PGMQ": PGMQ,
        "PGMQ's archive": PGMQ_ARCHIVE,
    },
    LOOP: {"PGMQ": PGMQ, "PGMQ's archive": PGMQ_ARCHIVE},
    PUT_AND_DIE: {"PGMQ": PGMQ_DIE, "RabbitMQ": RABBIT_DIE},
    LOOP_AND_DIE: {"PGMQ": PGMQ_DIE, "RabbitMQ": RABBIT_DIE},
}
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
    for with_id in (False, True):
        yield from under_a_held_snapshot(
            Cell(clients, replace(size, rounds=10)), with_id=with_id
        )


def singles(
    clients: Clients, size: Size, say: Callable[[str], None]
) -> Iterator[Result]:
    say("One by one")
    yield from floor(Cell(clients, size), 1)
    say("Dead letters one by one")
    yield from dead_letters(Cell(clients, size), 1)


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
        LOOP: Order("loop", batch, "loop", seconds),
    }
    if batch == 1:
        orders[RIVAL] = Order("defer_to_finish", 1, seconds=seconds)
    orders |= peers_cycles(batch, seconds)
    if pgmq.is_here():
        orders[PGMQ_SEND] = Order("pgmq_send", batch, seconds=seconds)
    begin(cell, "get", FASTEST[batch] * seconds)
    slices = cell.slices(orders)
    ground.check(cell.ready)
    return [alone(FLOOR, batch, slices[FLOOR]), *compared(slices, batch)]


def peers_cycles(batch: int, seconds: float) -> dict[str, Order]:
    """The whole life of a message, at those that are here."""
    orders = {}
    if rabbit.is_here():
        orders[RABBIT] = Order("rabbit_cycle", batch, seconds=seconds)
    if pgmq.is_here():
        orders[PGMQ] = Order("pgmq_cycle", batch, seconds=seconds)
        orders[PGMQ_ARCHIVE] = Order("pgmq_archive", batch, seconds=seconds)
    return orders


def compared(
    slices: dict[str, list[Slice]], batch: int, words: str = ""
) -> list[Result]:
    """Each beside the floor, and then ours beside those of ``PEERS`` that are here."""
    pairs = [(work, FLOOR, FLOOR) for work in slices if work != FLOOR]
    for work, peers in PEERS.items():
        for peer, theirs in peers.items():
            if work in slices and theirs in slices:
                pairs.append((work, peer, theirs))
    return [
        beside(f"{work}{words}", batch, slices[work], peer, slices[theirs])
        for work, peer, theirs in pairs
    ]


def dead_letters(cell: Cell, batch: int) -> list[Result]:
    seconds = cell.size.seconds
    orders = {
        FLOOR: Order("heap", batch, seconds=seconds),
        DIE: Order("die", batch, "poison", seconds),
        PUT_AND_DIE: Order("put_and_die", batch, "failing", seconds),
        LOOP_AND_DIE: Order("fail_in_loop", batch, "failing in a loop", seconds),
    }
    if pgmq.is_here():
        orders[PGMQ_DIE] = Order("pgmq_die", batch, seconds=seconds)
    if rabbit.is_here():
        orders[RABBIT_DIE] = Order("rabbit_die", batch, seconds=seconds)
    begin(cell, "poison", FASTEST[batch] * seconds)
    slices = cell.slices(orders)
    ground.check(cell.ready)
    return compared(slices, batch)


def at_once(database: str, size: Size, say: Callable[[str], None]) -> list[Result]:
    """One message at a time by several clients of one queue; RabbitMQ has one each."""
    say(f"{AT_ONCE} clients at once")
    words = f", {AT_ONCE} clients"
    orders = {
        FLOOR: Order("heap", 1, seconds=size.seconds),
        CYCLE: Order("cycle", 1, "cycle", size.seconds),
    }
    with clients_of(AT_ONCE, database) as clients:
        cell = Cell(clients, size)
        begin(cell, "cycle", 0)
        slices = cell.slices(orders | peers_cycles(1, size.seconds))
        ground.check(cell.ready)
    return [alone(f"{FLOOR}{words}", 1, slices[FLOOR]), *compared(slices, 1, words)]


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
    slices = cell.slices(orders)
    ground.check(cell.ready, delayed)
    mine, theirs = slices[BESIDE], slices[RIVAL_BESIDE]
    return [
        alone(RIVAL_BESIDE, batch, theirs),
        beside(BESIDE, batch, mine, "procrastinate", theirs),
        beside(BESIDE, batch, mine, PLAIN, slices[PLAIN]),
    ]


def under_a_held_snapshot(cell: Cell, *, with_id: bool) -> list[Result]:
    """The rates beside the floor, before and after; between, messages come and go."""
    clients, size = len(cell.clients.pipes), cell.size
    begin(cell, "held", FASTEST[100] * size.seconds)
    with ground.held_snapshot(with_id=with_id):
        before = {batch: beside_the_floor(cell, batch) for batch in (1, 100)}
        for batch, messages in ((1, size.held_singly), (1000, size.held)):
            cell.do(Order("cycle", batch, "held", most=messages / clients))
        after = {batch: beside_the_floor(cell, batch) for batch in before}
    ground.check(cell.ready)
    first = {batch: median(floors) for batch, (_, floors) in before.items()}
    work = HELD_WITH_ID if with_id else HELD
    return [
        Result(work, batch, rates, FIRST, [one / first[batch] for one in floors])
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
