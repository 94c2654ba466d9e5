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

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds


@dataclass(frozen=True)
class Clients:
    """All clients; they begin an order together."""

    pipes: list[Connection]

    def do(self, order: Order) -> Slice:
        for pipe in self.pipes:
            pipe.send(order)
        slices: list[Slice] = [pipe.recv() for pipe in self.pipes]
        spent = [one.spent for one in slices]
        return Slice(
            sum(one.messages for one in slices),
            max(one.seconds for one in slices),
            Spent(
                sum(one.client_s for one in spent),
                sum(one.server_s for one in spent),
                max(one.wal for one in spent),
            ),
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
    before = meters.read()
    messages, seconds, began = 0, 0.0, time.perf_counter()
    while seconds < order.seconds and messages < order.most:
        done = work(order.queue, order.batch)
        seconds = time.perf_counter() - began
        if not done:
            break
        messages += done
    return Slice(messages, seconds, meters.read() - before)
