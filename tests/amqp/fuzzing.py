"""Hostile clients by the thousand, beside a good one.

    python -m tests.amqp.fuzzing --sessions 100000 --lock-step 20000 --seed 1

Each session is a good one with something wrong in it, by its number and the seed. The
raw ones say everything at once; those in lock-step read the answers up to some step,
so that there are deliveries and transactions when it goes wrong.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from broker.monitoring import fsck
from tests.amqp.apart import own_database
from tests.amqp.course import Course
from tests.amqp.launching import HOST, Process, launched, login
from tests.amqp.mutating import mutate
from tests.amqp.serving import Served, serve
from tests.make import make_queue

AT_ONCE = 12
ANSWERS_WITHIN_S = 30.0
LINGERS_S = 0.05
RESET = struct.pack("ii", 1, 0)
GOOD = "good"
WARMS_UP = (300, 100)  # raw sessions, and in lock-step, before anything is compared
# So few that a connection that stays counted for ever is found.
FEW = {"BROKER_AMQP_MAX_CONNECTIONS_PER_USER": "100"}
QUEUES = (GOOD, *(f"fuzz.{number}" for number in range(AT_ONCE)))


@dataclass(frozen=True)
class Plan:
    """How many sessions of each kind; the same seed makes the same ones."""

    raw: int
    lock_step: int
    seed: int = 1
    first: int = 0  # number of a session; those before are left out
    within_s: float = inf  # those that are not begun by then are left out

    def numbers(self) -> Iterator[tuple[int, bool]]:
        """Of all sessions, with whether each is in lock-step; mixed evenly."""
        for number in range(self.first, self.total):
            before = number * self.lock_step // self.total
            yield number, (number + 1) * self.lock_step // self.total > before

    @property
    def total(self) -> int:
        return self.raw + self.lock_step


@dataclass
class Found:
    """What there was to see.

    Attributes:
        deliveries: messages that hostile clients got.
        unanswered: sessions in which a step that was good had no answer.
        rounds: of the good client.
        slowest_s: of them.
        memory_mb: of the listener, after each tenth of the sessions.
    """

    sessions: int = 0
    deliveries: int = 0
    unanswered: list[str] = field(default_factory=list)
    rounds: int = 0
    slowest_s: float = 0.0
    seconds: float = 0.0
    memory_mb: list[float] = field(default_factory=list)


class Fuzzer:
    """Sends the sessions of a plan to one listener."""

    def __init__(self, plan: Plan, process: Process, login: tuple[str, str]) -> None:
        self.plan = plan
        self.process = process
        self.port = process.port
        self.login = login
        self.found = Found()
        self.numbers = plan.numbers()
        self.began = 0.0

    async def run(self) -> Found:
        """All of them, while the good client goes on.

        Raises:
            AssertionError: the good client was not served.
        """
        self.began = time.monotonic()
        good, caller = await serve(HOST, self.port, self.login, GOOD)
        workers = [asyncio.create_task(self.work(n)) for n in range(AT_ONCE)]
        try:
            await asyncio.gather(*workers)
            rounds = good.rounds
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                while good.rounds == rounds and not caller.over.done():
                    await asyncio.sleep(0.01)
        finally:
            for worker in workers:
                worker.cancel()
        assert not caller.over.done(), caller.over.result()
        caller.close("the end")
        self.report(good, time.monotonic() - self.began)
        return self.found

    def report(self, good: Served, seconds: float) -> None:
        self.found.rounds = good.rounds
        self.found.slowest_s = max(good.slowest_s, good.waited_s)
        self.found.seconds = seconds

    async def work(self, number: int) -> None:
        """Sessions one after the other, on a queue and an address of its own."""
        for session, is_in_step in self.numbers:
            if time.monotonic() - self.began > self.plan.within_s:
                return
            draw = Random(f"{self.plan.seed} {session}")
            course = Course(*self.login, f"fuzz.{number}")
            made = await self.connect(number)
            try:
                await self.converse(made, course, draw, is_in_step=is_in_step)
            except TimeoutError:
                self.found.unanswered.append(f"{session}: {course.errors}")
            except OSError:
                pass  # it was hung up on, as it deserves
            finally:
                made.close()
            self.found.deliveries += len(course.got)
            self.count()

    def count(self) -> None:
        self.found.sessions += 1
        if self.found.sessions % (max(self.plan.total, 10) // 10) == 0:
            self.found.memory_mb.append(self.process.memory_mb)

    async def connect(self, number: int) -> socket.socket:
        """Each worker comes from another address, as its logins are counted by that."""
        made = socket.socket()
        made.settimeout(0)
        made.bind((f"127.0.1.{number + 1}", 0))
        await asyncio.get_running_loop().sock_connect(made, (HOST, self.port))
        return made

    async def converse(
        self, made: socket.socket, course: Course, draw: Random, *, is_in_step: bool
    ) -> None:
        loop = asyncio.get_running_loop()
        steps = course.steps()
        well = draw.randrange(1, len(steps)) if is_in_step else 0
        for say, is_answered in steps[:well]:
            await loop.sock_sendall(made, b"".join(say()))
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                while not is_answered():
                    data = await loop.sock_recv(made, 65_536)
                    if not data:
                        raise TimeoutError("it hung up")
                    course.take(data)
        frames = [one for say, _ in steps[well:] for one in say()]
        await loop.sock_sendall(made, b"".join(mutate(frames, draw)))
        await leave(made, draw)


async def leave(made: socket.socket, draw: Random) -> None:
    """At once, or after a moment in which there may be answers; perhaps by a reset.

    What was not read before a reset is lost to the listener, so there is one for which
    it has time to read.
    """
    end = draw.choice(("close", "reset", "read, reset", "half", "linger"))
    if "reset" in end:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    if end == "half":
        made.shutdown(socket.SHUT_WR)
    if end not in ("close", "reset"):
        linger_s = draw.random() * LINGERS_S if "reset" in end else LINGERS_S
        loop = asyncio.get_running_loop()
        with suppress(TimeoutError):
            async with asyncio.timeout(linger_s):
                while await loop.sock_recv(made, 65_536):
                    pass


def fuzz(plan: Plan, process: Process, login: tuple[str, str]) -> Found:
    """Send all sessions of a plan."""
    return asyncio.run(Fuzzer(plan, process, login).run())


def main() -> None:
    """Send as many as asked for; what is found at the end is printed."""
    parser = ArgumentParser(prog="tests.amqp.fuzzing", description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000, help="at once")
    parser.add_argument("--lock-step", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of a session")
    parser.add_argument("--minutes", type=float, default=inf, help="at most")
    given = parser.parse_args()
    within_s = 60 * given.minutes
    plan = Plan(given.sessions, given.lock_step, given.seed, given.first, within_s)
    with own_database("fuzz"), TemporaryDirectory() as directory:
        for queue in QUEUES:
            make_queue(queue)
        by = login()
        with launched(Path(directory) / "log", **FEW) as process:
            fuzz(Plan(*WARMS_UP, seed=plan.seed + 1), process, by)
            before = standing(process)
            found = fuzz(plan, process, by)
            process.settle_down(before[0])
            after = standing(process)
        tell(found, process, before, after)
        wrong = fsck.violations()
        print(f"consistency: {wrong or 'nothing is wrong'}")
        sys.exit(bool(wrong or process.troubles() or found.unanswered))


def standing(process: Process) -> tuple[int, float]:
    """Its open files, and its memory in MB."""
    return process.files, process.memory_mb


def tell(
    found: Found,
    process: Process,
    before: tuple[int, float],
    after: tuple[int, float],
) -> None:
    rate = found.sessions / found.seconds
    print(f"sessions: {found.sessions:,} in {found.seconds:.0f} s, {rate:.0f} a second")
    print(f"messages that hostile clients got: {found.deliveries:,}")
    print(f"unanswered: {len(found.unanswered)}", *found.unanswered[:10], sep="\n  ")
    print(f"good client: {found.rounds:,} rounds, slowest {found.slowest_s:.2f} s")
    print(f"open files: {before[0]} before, {after[0]} after")
    print(f"memory: {before[1]:.0f} MB before, {after[1]:.0f} MB after; by tenths:")
    print(" ", ", ".join(f"{one:.0f}" for one in found.memory_mb))
    troubles = process.troubles()
    print(f"its log: {len(troubles)} lines of trouble", *troubles[:20], sep="\n  ")
    print(f"it ended with {process.process.returncode}")


if __name__ == "__main__":
    main()
