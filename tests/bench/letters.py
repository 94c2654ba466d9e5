"""What an operator does to a hundred thousand dead letters, and who feels it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from django.contrib.auth.models import User

from broker import operations
from broker.housekeeping import pacing
from broker.models import Operation
from broker.monitoring.dead_letters import Selection
from broker.operations import Chosen, Order
from tests.bench import ground, rabbit
from tests.bench.clients import Order as Work
from tests.bench.figures import Figure
from tests.bench.live import QUEUE, client
from tests.bench.slices import Cell
from tests.bench.workloads import GRAVEYARD

BEFORE_S = 5.0  # for which the live consumer is watched with nothing beside it
CALM = 1.3  # what its p99 may become, against before


def measure(cell: Cell, database: str) -> Iterator[Figure]:
    """Freeze, look, resubmit and undo, alone; the last two beside a live consumer; and
    RabbitMQ's dead-letter exchange, alone."""
    many = cell.size.letters
    died_s = begin(cell, many)
    took: dict[str, float] = {}
    first: list[Operation] = []
    steps: dict[str, Callable[[], object]] = {
        "freeze": lambda: first.append(freeze()),
        "dry run": lambda: operations.preview(first[0].pk),
        "resubmit": lambda: work_off(first[0]),
        "undo": lambda: work_off(undo_of(first[0])),
    }
    for name, step in steps.items():
        took[name] = seconds_of(step)
        yield Figure(f"{name} {many:,} dead letters", took[name], "s")
    ground.settle_down()
    yield from beside_a_live_consumer(many, database)
    cell.ready[QUEUE] = 0
    ground.check(cell.ready)
    yield from against_rabbit(many, died_s + took["freeze"] + took["resubmit"])


def beside_a_live_consumer(many: int, database: str) -> Iterator[Figure]:
    resubmit = freeze()
    with client(database) as live:
        live.over(1)  # to warm up
        before = live.over(BEFORE_S).p99
        yield Figure("a live consumer's p99, nothing beside it", before, "ms")
        for name in ("resubmit", "undo"):
            operation = resubmit if name == "resubmit" else undo_of(resubmit)
            live.mark()
            took_s = seconds_of(partial(work_off, operation))
            p99 = live.mark().p99
            beside = f"{name} {many:,} dead letters, a live consumer beside it"
            yield Figure(beside, took_s, "s")
            yield Figure(
                f"a live consumer's p99 during {name}",
                p99,
                "ms",
                "itself before",
                p99 / before,
                most=CALM,
            )


def freeze() -> Operation:
    order, everything = Order(Operation.Kind.RESUBMIT), Chosen(letters=Selection())
    return operations.plan(user(), order, everything, scope="all", reason="a bench")


def undo_of(operation: Operation) -> Operation:
    return operations.plan_undo(user(), operation.pk, reason="a bench")


def begin(cell: Cell, many: int) -> float:
    """An empty broker, and so many dead letters; how long they took to die."""
    ground.clear()
    cell.ready.clear()
    cell.stock("once", many)
    ground.settle_down()
    began = time.perf_counter()
    cell.do(Work("die_at_once", 1000, "once", most=many / len(cell.clients.pipes)))
    took = time.perf_counter() - began
    assert cell.ready[GRAVEYARD] == many, "all of them are dead letters"
    ground.settle_down()
    return took


def against_rabbit(many: int, ours_s: float) -> Iterator[Figure]:
    work = f"dead-letter {many:,} and bring them back"
    if not rabbit.is_here():
        yield Figure(work, ours_s, "s")
        return
    theirs_s = rabbit.dead_letter_and_bring_back(many)
    ratio = theirs_s / ours_s
    yield Figure(work, ours_s, "s", "RabbitMQ's exchange", ratio, least=5)


def work_off(operation: Operation) -> None:
    operations.start(operation.pk)
    for _ in pacing.steps(operation.pk):
        pass


def seconds_of(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def user() -> User:
    found, _ = User.objects.get_or_create(username="bench")
    return found
