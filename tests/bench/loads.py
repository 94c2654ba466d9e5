"""Load on a listener for AMQP 1.0, or on the broker's own API in its place.

Each load is a process of its own, so that what it takes is not the server's. A client
of AMQP has so many messages under way as a caller of the API has in a batch.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from django.conf import settings
from django.db import connection

from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.performatives import Accepted, DeliveryState
from broker.queueing import processes as owner
from broker.queueing.put import NewMessage, put_many
from broker.transactions.scope import unit_of_work
from tests.amqp.exchange import Gets, Puts, Told
from tests.bench.clients import FOR_EVER, Slice

BODY = b"x" * 1024
AHEAD = 400
LOOK_S = 0.002
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Place:
    """Where the messages go to, and come from.

    Attributes:
        name: of the queue, as this server calls it.
        port: of the listener; 0 is none: the broker's API is called.
        login: a name and a secret.
        authority: the file of the one that signed the listener's certificate; without
            one there is no TLS.
    """

    name: str
    port: int = 0
    login: tuple[str, str] = ("", "")
    authority: str = ""


@dataclass(frozen=True)
class Load:
    """Put, or get and accept, until the time is over or that many are done.

    Attributes:
        ahead: messages under way, or in a batch.
    """

    place: Place
    puts: bool
    ahead: int
    seconds: float = FOR_EVER
    messages: float = FOR_EVER


class Porter:
    """A client that carries out one load."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.program = self.puts() if load.puts else self.gets()
        self.sent = self.done = 0
        self.began_s = self.ended_s = 0.0

    @property
    def is_over(self) -> bool:
        """Whether nothing more is begun."""
        count = self.sent if self.load.puts else self.done
        if count >= self.load.messages:
            return True
        now = time.perf_counter()
        return bool(self.began_s) and now - self.began_s >= self.load.seconds

    @property
    def is_through(self) -> bool:
        return self.is_over and (not self.load.puts or self.done == self.sent)

    def puts(self) -> Puts:
        return Puts(
            self.load.place.name, self.next, self.confirmed, ahead=self.load.ahead
        )

    def gets(self) -> Gets:
        """RabbitMQ's plug-in sends more than it has credit for, now and then."""
        return Gets(self.load.place.name, self.got, ahead=self.load.ahead, beyond=AHEAD)

    def next(self) -> bytes | None:
        if not self.began_s:
            self.began_s = time.perf_counter()
        if self.is_over:
            return None
        self.sent += 1
        return BODY

    def confirmed(self, body: bytes, state: DeliveryState | None) -> None:
        assert isinstance(state, Accepted), f"a message came to {state}"
        self.count(1)

    def got(self, deliveries: list[Delivery]) -> list[Delivery]:
        """What came after the end is left to come again."""
        if self.is_over:
            return []
        if not self.began_s:
            self.began_s = time.perf_counter()
        least = int(min(len(deliveries), self.load.messages - self.done))
        self.count(least)
        return deliveries[:least]

    def count(self, messages: int) -> None:
        self.done += messages
        self.ended_s = time.perf_counter()

    async def run(self) -> Slice:
        place = self.load.place
        user, secret = place.login
        caller = Told(self.program, container_id="", user=user, secret=secret)
        loop = asyncio.get_running_loop()
        await loop.create_connection(
            lambda: caller,
            "127.0.0.1",
            place.port,
            ssl=context(place.authority) if place.authority else None,
            server_hostname="localhost" if place.authority else None,
        )
        async with asyncio.timeout(PATIENCE_S):
            while not self.is_through:
                assert not caller.over.done(), f"{place}: {caller.over.result()}"
                await asyncio.sleep(LOOK_S)
        caller.close("the end")
        await asyncio.sleep(LOOK_S)
        return Slice(self.done, self.ended_s - self.began_s)


def context(authority: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority)


def call(load: Load) -> Slice:
    """The same by the broker's own API, in batches."""
    done, began = 0, time.perf_counter()
    while done < load.messages and time.perf_counter() - began < load.seconds:
        batch = int(min(load.ahead, load.messages - done))
        done += put(load, batch) if load.puts else get(load, batch)
    return Slice(done, time.perf_counter() - began)


def put(load: Load, batch: int) -> int:
    return len(put_many([NewMessage(load.place.name, BODY) for _ in range(batch)]))


def get(load: Load, batch: int) -> int:
    with unit_of_work() as work:
        return len(work.get(load.place.name, batch))


def carry_out(load: Load) -> Slice:
    return asyncio.run(Porter(load).run()) if load.place.port else call(load)


@dataclass(frozen=True)
class Loads:
    """A process that puts and one that gets."""

    putter: Connection
    getter: Connection

    def put(self, place: Place, seconds: float, ahead: int) -> Slice:
        return ask(self.putter, Load(place, puts=True, ahead=ahead, seconds=seconds))

    def get(self, place: Place, messages: int, ahead: int) -> Slice:
        return ask(self.getter, Load(place, puts=False, ahead=ahead, messages=messages))

    def both(self, place: Place, seconds: float, ahead: int) -> tuple[Slice, Slice]:
        """At the same time; what is left on the queue is the caller's."""
        self.getter.send(Load(place, puts=False, ahead=ahead, seconds=seconds))
        self.putter.send(Load(place, puts=True, ahead=ahead, seconds=seconds))
        return self.putter.recv(), self.getter.recv()


def ask(pipe: Connection, load: Load) -> Slice:
    pipe.send(load)
    done: Slice = pipe.recv()
    return done


@contextmanager
def loads(database: str) -> Iterator[Loads]:
    """Two processes, as ``clients``."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for _ in range(2):
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, database), daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    try:
        yield Loads(*pipes)
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.join()


def serve(loads: Connection, database: str) -> None:
    """Carry out loads until there are no more."""
    settings.DATABASES["default"]["NAME"] = database
    while True:
        try:
            load = loads.recv()
        except EOFError:
            break
        loads.send(carry_out(load))
    owner.resign()
    connection.close()
