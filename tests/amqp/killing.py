"""Kills listeners and PostgreSQL while clients put and get, and looks what is lost.

    python -m tests.amqp.killing --kills 20

Two processes listen, on a PostgreSQL of their own. Four clients put and four get, and
connect again whenever they are cut off. Then what they were told is compared with what
there is.
"""

from __future__ import annotations

import asyncio
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import psutil
from django.db import Error as DatabaseError
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from broker.amqp import ports
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.performatives import DeliveryState
from broker.amqp.protocol.sections import body_of, split
from broker.models import Claim, Delayed, Message, Ready
from broker.monitoring import fsck
from broker.settlement import settle
from tests.amqp.exchange import Gets, Looks, Puts, Told
from tests.amqp.launching import HOST, TROUBLE, Process, launch, login
from tests.amqp.ledger import Ledger
from tests.broker import crashing
from tests.make import make_queue, make_setting

Result = TypeVar("Result")

QUEUE = "killed"
EACH = 4  # producers, and consumers
AHEAD = 50
LISTENERS = 2
WORKS_S = (0.5, 2.0)  # from one kill to the next, or to the end
AGAIN_S = 0.05  # until a client that was cut off connects again
TENDS_S = 0.5
BACK_WITHIN_S = 60.0
DRAINS_WITHIN_S = 60.0


@dataclass
class Found:
    """What was counted, and what cannot be true.

    Attributes:
        back_s: from each kill until what was killed served again, by what it was.
        wrong: sentences of the ledger and of the consistency check.
        troubles: lines in the logs of listeners that should not be there.
    """

    ledger: Ledger = field(default_factory=Ledger)
    back_s: dict[str, list[float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


@dataclass
class Listener:
    """One of the processes, and those that were there before it was killed."""

    number: int
    directory: Path
    port: int
    database: str
    process: Process = field(init=False)
    logs: list[Path] = field(default_factory=list)

    def start(self) -> None:
        log = self.directory / f"{self.number}.{len(self.logs)}.log"
        self.logs.append(log)
        options = (f"--port={self.port}", f"--host={HOST}")
        self.process = launch(log, *options, DATABASE_URL=self.database)

    def start_again(self) -> None:
        self.start()
        self.process.wait()

    def end(self) -> None:
        if self.process.is_alive:
            self.process.end()

    def troubles(self) -> list[str]:
        """Of all processes that there were."""
        lines = [line for log in self.logs for line in log.read_text().splitlines()]
        return [line for line in lines if TROUBLE.search(line)]


class Killing:
    """Clients at work, and whoever kills."""

    def __init__(
        self,
        server: crashing.Server,
        listeners: list[Listener],
        by: tuple[str, str],
        seed: int,
    ) -> None:
        self.server = server
        self.listeners = listeners
        self.by = by
        self.draw = Random(seed)
        self.found = Found()
        self.is_over = False  # for producers
        self.is_drained = False  # for consumers
        self.confirmed_at = 0.0
        here = connections["default"]
        self.thread = ThreadPoolExecutor(1, initializer=adopt, initargs=(here,))

    async def run(self, kills: int) -> Found:
        """Kill so often, and let everything come to its end."""
        tasks = [asyncio.create_task(self.produce(n)) for n in range(EACH)]
        consumers = [asyncio.create_task(self.consume(n)) for n in range(EACH)]
        housekeeper = asyncio.create_task(self.keep_house())
        victims = cycle(("listener", "PostgreSQL"))
        for victim, _ in zip(victims, range(kills), strict=False):
            await asyncio.sleep(self.draw.uniform(*WORKS_S))
            await self.kill(victim)
        await asyncio.sleep(WORKS_S[1])
        self.is_over = True
        await asyncio.gather(*tasks)
        await self.drain()
        self.is_drained = True
        await asyncio.gather(*consumers)
        housekeeper.cancel()
        self.thread.submit(leave).result()
        self.thread.shutdown()
        return self.found

    async def kill(self, victim: str) -> None:
        began = time.monotonic()
        if victim == "listener":
            listener = self.draw.choice(self.listeners)
            listener.process.kill()
            await asyncio.to_thread(listener.start_again)
        else:
            await asyncio.to_thread(kill, self.server)
            await asyncio.to_thread(self.server.start)
        served = time.monotonic()
        async with asyncio.timeout(BACK_WITHIN_S):
            while self.confirmed_at < served:
                await asyncio.sleep(0.01)
        self.found.back_s.setdefault(victim, []).append(time.monotonic() - began)

    # The clients.

    async def produce(self, number: int) -> None:
        def more() -> bytes | None:
            return None if self.is_over else self.found.ledger.send()

        def outcome(body: bytes, state: DeliveryState | None) -> None:
            self.found.ledger.outcome(body, state)
            if body in self.found.ledger.confirmed:
                self.confirmed_at = time.monotonic()

        await self.again_and_again(
            number,
            lambda: Puts(QUEUE, more, outcome, ahead=AHEAD),
            lambda puts: self.is_over and not puts.unconfirmed,
        )

    async def consume(self, number: int) -> None:
        ledger = self.found.ledger

        def got(deliveries: list[Delivery]) -> list[Delivery]:
            for one in deliveries:
                one.context = body_of(split(one.payload).body).data
                ledger.hand_out(one.context)
            return deliveries

        def confirmed(deliveries: list[Delivery]) -> None:
            for one in deliveries:
                ledger.confirm(one.context)

        await self.again_and_again(
            number,
            lambda: Gets(QUEUE, got, ahead=AHEAD, confirmed=confirmed),
            lambda gets: self.is_drained,
        )

    async def again_and_again(
        self,
        number: int,
        make: Callable[[], Looks],
        is_done: Callable[[Any], bool],
    ) -> None:
        """Connect to one listener after the other, as long as there is work."""
        loop = asyncio.get_running_loop()
        user, secret = self.by
        for turn in range(number, sys.maxsize):
            program = make()
            caller = Told(program, container_id="", user=user, secret=secret)
            port = self.listeners[turn % len(self.listeners)].port
            with suppress(OSError):
                await loop.create_connection(partial(same, caller), HOST, port)
                while not (caller.over.done() or is_done(program)):
                    await asyncio.sleep(AGAIN_S)
                if not caller.over.done():
                    caller.close("the end")
            if self.is_over and is_done(program):
                return
            await asyncio.sleep(AGAIN_S)

    # The broker's housekeeping, which the worker does elsewhere.

    async def keep_house(self) -> None:
        while True:
            await self.ask(lambda: settle.back_out_overdue(limit=1000))
            await asyncio.sleep(TENDS_S)

    async def drain(self) -> None:
        """Wait until everything was got and accepted."""
        async with asyncio.timeout(DRAINS_WITHIN_S):
            while await self.ask(is_something_left) is not False:
                await asyncio.sleep(TENDS_S)

    async def ask(self, call: Callable[[], Result]) -> Result | None:
        """Ask the database something; None while it is away."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.thread, attempt, call)


def same(caller: Told) -> Told:
    return caller


def adopt(other: BaseDatabaseWrapper) -> None:
    """This thread, too, is a client of the server of the test."""
    connections["default"] = other.copy()


def leave() -> None:
    connection.close()


def attempt(call: Callable[[], Result]) -> Result | None:
    try:
        return call()
    except DatabaseError:
        connection.close()
        return None


def is_something_left() -> bool:
    return any(kind.objects.exists() for kind in (Ready, Delayed, Claim))


def kill(server: crashing.Server) -> None:
    processes = crashing.kill_with_children(server.pid())
    psutil.wait_procs(processes, timeout=10)


@contextmanager
def scene(directory: Path) -> Iterator[tuple[crashing.Server, list[Listener]]]:
    """A PostgreSQL, and the processes that listen; all end with it."""
    with ExitStack() as stack:
        server = stack.enter_context(crashing.server(directory / "var"))
        address = f"postgresql://postgres@/{crashing.NAME}?host={server.data}"
        make_queue(QUEUE)
        make_setting(QUEUE, max_delivery_attempts=-1)
        listeners = []
        for number in range(LISTENERS):
            port = ports.free(HOST, 0, is_fixed=True)
            listener = Listener(number, directory, port, address)
            listener.start()
            stack.callback(listener.end)
            listener.process.wait()
            listeners.append(listener)
        yield server, listeners


def rehearse(directory: Path, kills: int, seed: int) -> Found:
    """The whole of it: what was counted, and what is wrong."""
    with scene(directory) as (server, listeners):
        killing = Killing(server, listeners, login(), seed)
        found = asyncio.run(killing.run(kills))
        connection.close()
        found.wrong = found.ledger.audit(bodies(left()), bodies(Message.objects.all()))
        for listener in listeners:
            listener.end()
        found.wrong += [one.sentence for one in fsck.violations()]
    found.troubles = [line for one in listeners for line in one.troubles()]
    return found


def left() -> QuerySet[Message]:
    """What is on the queue; nothing is taken any more."""
    assert not Claim.objects.exists()
    ids = [*Ready.objects.values_list("id", flat=True)]
    ids += Delayed.objects.values_list("id", flat=True)
    return Message.objects.filter(pk__in=ids)


def bodies(messages: QuerySet[Message]) -> list[bytes]:
    return [bytes(body) for body in messages.values_list("body", flat=True)]


def main() -> None:
    """Kill as often as asked for; what is found is printed."""
    parser = ArgumentParser(prog="tests.amqp.killing", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with TemporaryDirectory() as directory:
        found = rehearse(Path(directory), given.kills, given.seed)
    tell(found)
    sys.exit(bool(found.wrong))


def tell(found: Found) -> None:
    ledger = found.ledger
    print(f"sent: {len(ledger.sent):,}, confirmed: {len(ledger.confirmed):,}")
    print(f"handed out: {ledger.got.total():,}, accepts confirmed:", end=" ")
    print(f"{ledger.accepted.total():,}, in doubt: {ledger.in_doubt.total():,}")
    print(f"accepted again after an accept in doubt: {ledger.duplicates:,}")
    for victim, seconds in found.back_s.items():
        each = ", ".join(f"{one:.1f}" for one in seconds)
        print(f"{victim} killed {len(seconds)} times; serves again after {each} s")
    print(f"wrong: {len(found.wrong)}", *found.wrong[:20], sep="\n  ")
    print(f"troubles in logs: {len(found.troubles)}", *found.troubles[:20], sep="\n  ")


if __name__ == "__main__":
    main()
