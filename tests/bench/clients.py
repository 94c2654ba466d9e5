"""Clients: processes that do the same work for the same time, and count it."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from django.conf import settings
from django.db import connection

from broker.queueing import processes as owner
from tests.bench import meters
from tests.bench.meters import NOTHING, Spent
from tests.bench.workloads import WORKLOADS

FOR_EVER = float("inf")


@dataclass(frozen=True)
class Order:
    """What each client is to do, until the time is over or enough is done."""

    work: str  # of WORKLOADS
    batch: int
    queue: str = ""
    seconds: float = FOR_EVER
    most: float = FOR_EVER  # messages of each client


@dataclass(frozen=True)
class Slice:
    """What was done."""

    messages: int
    seconds: float
    spent: Spent = NOTHING  # where it is measured
    clients: int = 1  # that did it

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds

    @property
    def cost_s(self) -> float | None:
        """Of processors, client and server, for a message; None if one is unknown."""
        if not self.messages or self.spent.server_s <= 0:
            return None
        return (self.spent.client_s + self.spent.server_s) / self.messages


@dataclass(frozen=True)
class Clients:
    """All clients; they begin an order together."""

    pipes: list[Connection]

    def do(self, order: Order) -> Slice:
        for pipe in self.pipes:
            pipe.send(order)
        slices: list[Slice] = [pipe.recv() for pipe in self.pipes]
        return Slice(
            sum(one.messages for one in slices),
            max(one.seconds for one in slices),
            meters.together(order.work, [one.spent for one in slices]),
            len(slices),
        )


@contextmanager
def clients(count: int, database: str) -> Iterator[Clients]:
    # A fork would share its parent's connections.
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for _ in range(count):
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, database), daemon=True)
        process.start()
        theirs.close()  # so that the end of a client is the end of its pipe
        pipes.append(ours)
        processes.append(process)
    try:
        yield Clients(pipes)
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.join()


def serve(orders: Connection, database: str) -> None:
    """Carry out orders until there are no more."""
    settings.DATABASES["default"]["NAME"] = database
    while True:
        try:
            order = orders.recv()
        except EOFError:
            break
        orders.send(carry_out(order))
    owner.resign()
    connection.close()


def carry_out(order: Order) -> Slice:
    work = WORKLOADS[order.work]
    before = meters.read(order.work)
    messages, seconds, began = 0, 0.0, time.perf_counter()
    while seconds < order.seconds and messages < order.most:
        done = work(order.queue, order.batch)
        seconds = time.perf_counter() - began
        if not done:
            break
        messages += done
    return Slice(messages, seconds, meters.read(order.work) - before)
