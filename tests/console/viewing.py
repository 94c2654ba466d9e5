"""What it costs that people look: queries, bytes, and what the broker's rate loses.

Messages flow; pages are open now and are not then, in turns, so that noise hits both
alike. A page is its socket, and what it asks for by itself.

python manage.py with_servers python -m tests.console.viewing --viewers 20
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from urllib.request import Request, urlopen

import psutil
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from broker import operations
from broker.models import Authority, Operation
from broker.monitoring.dead_letters import Selection
from broker.operations import Chosen, Order
from broker.queueing import processes
from console.accounts import roles
from tests.amqp.apart import own_database
from tests.bench.figures import percentile
from tests.bench.workloads import cycle
from tests.console.browsing import PROGRAMS, running_console
from tests.console.counted import PATH
from tests.console.graveyard import bury
from tests.console.until import until
from tests.make import make_queue, make_user

SERVED = "tests.console.counted:application"
FLOW = "flow"
LETTERS = 3000
AT_ONCE = 20  # messages of a put, and of a unit of work
ASKS_S = 5.0  # for what a page asks by itself
SETTLES_S = 3.0  # after all have come
MOST_LOST = 0.03  # of the rate


@dataclass(frozen=True)
class Shown:
    """A page that somebody looks at."""

    path: str
    topic: str = ""  # beside the depths
    asks: bool = False  # for a part of itself


@dataclass
class Slice:
    """Some seconds, with pages open or without."""

    seconds: float
    messages: int
    took_ms: list[float]  # of each cycle
    queries: int
    web_s: float  # of a processor, for the web process
    heard: dict[str, list[int]] = field(default_factory=dict)  # bytes of each page

    @property
    def rate(self) -> float:
        return self.messages / self.seconds


@contextmanager
def flowing(database: str, rate: float) -> Iterator[Connection]:
    """Messages that come and go, so many a second; each mark asks what was done."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=flow, args=(theirs, database, rate), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join()


def flow(marks: Connection, database: str, rate: float) -> None:
    """Send and take until nobody listens; as fast as it goes where the rate is 0."""
    settings.DATABASES["default"]["NAME"] = database
    done, took, due = 0, [], time.perf_counter()
    while True:
        began = time.perf_counter()
        done += cycle(FLOW, AT_ONCE)
        took.append((time.perf_counter() - began) * 1000)
        due = max(due + AT_ONCE / rate, began) if rate else began
        if marks.poll(max(due - time.perf_counter(), 0)):
            try:
                marks.recv()
            except EOFError:
                break
            marks.send((done, took))
            done, took = 0, []
        elif rate:
            continue
    processes.resign()
    connection.close()


class Crowd:
    """People who each look at one of the pages, until they are let go."""

    def __init__(self, url: str, pages: list[Shown], cookies: list[str]) -> None:
        self.url = url
        self.shown = [pages[at % len(pages)] for at in range(len(cookies))]
        self.cookies = cookies
        self.heard = [0] * len(cookies)  # bytes

    def __enter__(self) -> Crowd:
        self.leaving = threading.Event()
        self.thread = threading.Thread(target=asyncio.run, args=[self.look_all()])
        self.thread.start()
        until(lambda: all(self.heard))
        time.sleep(SETTLES_S)
        return self

    def __exit__(self, *_: object) -> None:
        self.leaving.set()
        self.thread.join()

    async def look_all(self) -> None:
        looks = [self.look(number) for number in range(len(self.shown))]
        await asyncio.gather(*looks, *map(self.ask, range(len(self.shown))))

    async def look(self, number: int) -> None:
        """One socket."""
        topic, cookie = self.shown[number].topic, self.cookies[number]
        url = self.url.replace("http", "ws", 1) + f"/ws/depths/{topic}"
        said = {"Cookie": cookie}
        slots = await asyncio.to_thread(self.slots, number)
        while not self.leaving.is_set():
            with suppress(ConnectionClosed):  # and it connects again, as browsers do
                async with connect(
                    url, origin=Origin(self.url), additional_headers=said
                ) as wire:
                    await wire.send(slots)
                    await self.hear(wire, number)

    def slots(self, number: int) -> str:
        """The queues of which the page shows numbers, as its script says them."""
        said = {"Cookie": self.cookies[number]}
        with urlopen(Request(self.url + self.shown[number].path, headers=said)) as page:
            html = page.read().decode()
        return ",".join(sorted(set(re.findall(r'data-slot="q(\d+)-', html))))

    async def hear(self, wire: ClientConnection, number: int) -> None:
        while not self.leaving.is_set():
            with suppress(TimeoutError):
                self.heard[number] += len(await asyncio.wait_for(wire.recv(), 0.5))

    async def ask(self, number: int) -> None:
        """What a page asks for by itself, now and then."""
        page, said = self.shown[number], {"Cookie": self.cookies[number]}
        request = Request(self.url + page.path, headers=said)
        due = time.monotonic() + ASKS_S * number / len(self.shown)  # not all at once
        while page.asks and not self.leaving.is_set():
            if time.monotonic() >= due:
                await asyncio.to_thread(lambda: urlopen(request).read())
                due += ASKS_S
            await asyncio.sleep(0.1)


def measure(
    url: str, marks: Connection, seconds: float, crowd: Crowd | None = None
) -> Slice:
    before = list(crowd.heard) if crowd else []
    marks.send(None)
    marks.recv()
    queries, web_s, began = counted(url), web_seconds(), time.perf_counter()
    time.sleep(seconds)
    marks.send(None)
    messages, took = marks.recv()
    passed = time.perf_counter() - began
    web_s = web_seconds() - web_s
    found = Slice(passed, messages, took, counted(url) - queries, web_s)
    for number, page in enumerate(crowd.shown if crowd else []):
        heard = crowd.heard[number] - before[number] if crowd else 0
        found.heard.setdefault(page.path, []).append(heard)
    return found


def web_seconds() -> float:
    """What the process that serves the pages has had of a processor."""
    ours = psutil.Process().children(recursive=True)
    (web,) = [one for one in ours if SERVED in " ".join(one.cmdline())]
    spent = web.cpu_times()
    return float(spent.user + spent.system)


def counted(url: str) -> int:
    with urlopen(url + PATH) as answer:
        return int(json.load(answer))


def cookies_of(count: int, pages: int) -> list[str]:
    """As many people as look; those of the second page may inquire its queue only."""
    found = []
    rights = tuple(roles.ROLES["operator"])
    for number in range(count):
        user = make_user(f"viewer{number}", permissions=rights)
        if number % pages == 1:
            Authority.objects.filter(user=user).update(pattern=FLOW)
        client = Client()
        client.force_login(user)
        name = settings.SESSION_COOKIE_NAME
        found.append(f"{name}={client.cookies[name].value}")
    return found


def slow_operation() -> Operation:
    """That goes on all the while, one a second."""
    user = User.objects.create_user("patient")
    order, everything = Order(Operation.Kind.RESUBMIT), Chosen(letters=Selection())
    planned = operations.plan(user, order, everything, scope="all dead letters")
    operations.arrange(planned.pk, pace=1, canary=0)
    operations.start(planned.pk)
    return planned


def report(name: str, slices: dict[bool, list[Slice]]) -> None:
    """What the slices come to, in medians."""
    seen, unseen = slices[True], slices[False]
    ratios = [one.rate / other.rate for one, other in zip(seen, unseen, strict=True)]
    lost = 1 - median(ratios)
    for words, which in (("nobody looks", unseen), ("all look", seen)):
        rate = median(one.rate for one in which)
        p99 = median(percentile(one.took_ms, 99) for one in which)
        asked = median(one.queries / one.seconds for one in which)
        busy = median(one.web_s / one.seconds for one in which)
        print(
            f"{name}, {words}: {rate:,.0f} messages/s, p99 of {AT_ONCE} there and back"
            f" {p99:.1f} ms, {asked:.1f} queries/s from pages,"
            f" {busy:.1%} of a processor for the web process"
        )
    print(f"{name}: lost {lost:.1%} (target ≤ {MOST_LOST:.0%})")
    for path in seen[0].heard:
        each = [mean(one.heard[path]) / one.seconds for one in seen]
        print(f"{name}, {path}: {median(each):,.0f} bytes/s for each viewer")


def run(url: str, given: Namespace) -> None:
    make_queue(FLOW)
    operation = slow_operation()
    pages = [
        Shown("/queues/"),
        Shown(f"/queues/{FLOW}/"),
        Shown("/dead/"),
        Shown("/", asks=True),
        Shown(f"/operations/{operation.pk}/", f"?operation={operation.pk}"),
    ]
    cookies = cookies_of(given.viewers, len(pages))
    name = connection.settings_dict["NAME"]
    for words, rate in ((f"{given.rate:,} a second", given.rate), ("unpaced", 0)):
        slices: dict[bool, list[Slice]] = {True: [], False: []}
        with flowing(name, rate) as marks:
            measure(url, marks, 3.0)  # warms up
            for number in range(2 * given.rounds):
                is_seen = (number % 2 == 0) ^ (number % 4 >= 2)
                with Crowd(url, pages, cookies) if is_seen else nullcontext() as crowd:
                    found = measure(url, marks, given.seconds, crowd)
                slices[is_seen].append(found)
        report(words, slices)


def main() -> None:
    parser = ArgumentParser(prog="tests.console.viewing", description=__doc__)
    parser.add_argument("--viewers", type=int, default=20)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    with own_database("viewing"), TemporaryDirectory() as var:
        list(bury(LETTERS, 12))
        programs = (*PROGRAMS, "deadlines", "beat")
        with running_console(Path(var), programs, SERVED) as url:
            run(url, given)


if __name__ == "__main__":
    main()
