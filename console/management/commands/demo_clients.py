"""Runs the demonstration's shop and warehouse as AMQP 1.0 clients."""

from __future__ import annotations

import asyncio
import signal
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count as counting

from django.core.management.base import BaseCommand

from broker.checks import BROKER
from console.demo import logins, shop
from console.demo.caller import Caller, Program
from console.demo.logins import Login
from console.layout import listeners
from console.layout.listeners import Door

AGAIN_AFTER_S = 3.0
GOODBYE_S = 0.2  # seconds to send what was written last

Say = Callable[[str], None]


class Command(BaseCommand):
    help = (
        "Put orders on the address shop.orders and get them again, both as clients of"
        " the listener by AMQP 1.0. Some are rejected, some come again. Creates what it"
        " needs: a queue, a user, and credentials. Stop it with Ctrl-C."
    )
    requires_system_checks = [BROKER]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--rate", type=float, default=1.0, help="orders a second")
        parser.add_argument(
            "--count", type=int, help="stop after this many settled deliveries"
        )

    def handle(self, *, rate: float, count: int | None, **_: object) -> None:
        shop.make_places()
        traffic = Traffic(listeners.doors()[-1], logins.logins(), self.stderr.write)
        asyncio.run(traffic.run(rate, count))
        told = ", ".join(f"{number} {what}" for what, number in traffic.said.items())
        self.stdout.write(f"Orders: {told or 'none'}.")


class Traffic:
    """The shop, the warehouse, and their connections.

    Attributes:
        said: how many orders were put, and what the warehouse said, by outcome.
    """

    def __init__(self, door: Door, known: Mapping[str, Login], say: Say) -> None:
        self.door = door
        self.known = known
        self.say = say
        self.said: Counter[str] = Counter()

    async def run(self, rate: float, count: int | None) -> None:
        """Run until enough deliveries are settled, or a signal arrives.

        Args:
            rate: orders a second.
            count: deliveries; None is no end.
        """
        loop = asyncio.get_running_loop()
        enough = asyncio.Event()
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(one, enough.set)
        seller = shop.Shop(counting(int(time.time())), self.said)
        parts = [
            self.keep_calling("demo-shop", seller),
            self.keep_calling("demo-warehouse", shop.Warehouse(self.said)),
            self.sell(seller, rate, count, enough),
        ]
        tasks = [loop.create_task(one) for one in parts]
        ends = loop.create_task(enough.wait())
        await asyncio.wait([ends, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in (ends, *tasks):
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
        await asyncio.sleep(GOODBYE_S)

    async def sell(
        self, seller: shop.Shop, rate: float, count: int | None, enough: asyncio.Event
    ) -> None:
        while count is None or self.decided < count:
            await asyncio.sleep(1 / rate)
            seller.put()
        enough.set()

    @property
    def decided(self) -> int:
        return self.said.total() - self.said["put"]

    async def keep_calling(self, name: str, program: Program) -> None:
        """Stay connected; when a connection ends, print why and reconnect."""
        before = ""
        while True:
            why = await self.call(name, program)
            if why != before:
                self.say(
                    f"{name}: {why.rstrip('.')}. It calls again until it is heard."
                )
            before = why
            await asyncio.sleep(AGAIN_AFTER_S)

    async def call(self, name: str, program: Program) -> str:
        """Connect once; return why the connection ended."""
        login = self.known[name]
        caller = Caller(
            program, container_id=name, user=login.name, secret=login.secret
        )
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: caller, self.door.host, self.door.port)
        except OSError:
            return f"No listener answers at {self.door.url}"
        try:
            return await caller.over
        finally:
            caller.close("it is done")
