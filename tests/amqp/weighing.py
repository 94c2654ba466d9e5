"""What connections cost a listener that do nothing, or do not settle what they get.

python -m tests.amqp.weighing --connections 5000
"""

from __future__ import annotations

import asyncio
import socket
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from broker.amqp.protocol.performatives import Flow
from broker.management.commands.broker_listen import allow_many_sockets
from broker.models import Claim, Ready
from broker.queueing.put import NewMessage, put_many
from tests.amqp.apart import own_database
from tests.amqp.course import GET, Course, said
from tests.amqp.launching import HOST, Process, launched, login
from tests.make import make_queue

IDLE, STUCK = "idle", "stuck"
AT_ONCE = 20
WITHIN_S = 30.0
MILLION = 1_000_000
BODY = b"x" * 1024
WIDE = {  # a listener for many clients of one user from one host
    f"BROKER_AMQP_MAX_CONNECTIONS{which}": "20000"
    for which in ("_PER_USER", "_PER_HOST")
}


@dataclass(frozen=True)
class Weight:
    """Of so many connections, in KiB for each: open ones, and those that could get."""

    connections: int
    open_kib: float
    attached_kib: float
    files_left: int  # that were not there before


@dataclass(frozen=True)
class Stuck:
    """A consumer with a credit of a million that settles nothing.

    Attributes:
        got: messages that it read.
        grew_mb: the listener, meanwhile.
        back: entries that are ready again after it was gone; all should be.
    """

    got: int
    grew_mb: float
    back: int


async def weigh(
    process: Process, by: tuple[str, str], count: int, *, leaves_within_s: float = 20.0
) -> Weight:
    """Open so many connections, step by step, and drop them."""
    files, before_mb = process.files, process.memory_mb
    open_files = asyncio.Semaphore(AT_ONCE)

    async def go(client: Client, steps: int) -> None:
        async with open_files:
            await client.go_on(steps)

    clients = [Client(process.port, by, IDLE) for _ in range(count)]
    await asyncio.gather(*(go(one, 3) for one in clients))
    open_mb = process.memory_mb
    await asyncio.gather(*(go(one, 4) for one in clients))
    attached_mb = process.memory_mb
    for one in clients:
        one.socket.close()
    left = process.settle_down(files, leaves_within_s) - files
    return Weight(
        count,
        (open_mb - before_mb) * 1024 / count,
        (attached_mb - before_mb) * 1024 / count,
        left,
    )


class Client:
    """One that says what a good session says, as far as it is told to."""

    def __init__(self, port: int, by: tuple[str, str], queue: str) -> None:
        self.address = HOST, port
        self.course = Course(*by, queue)
        self.steps = self.course.steps()
        self.done = 0
        self.socket = socket.socket()
        self.socket.settimeout(0)

    async def go_on(self, steps: int) -> None:
        """Up to this step of the session, each with its answer."""
        loop = asyncio.get_running_loop()
        if not self.done:
            await loop.sock_connect(self.socket, self.address)
        async with asyncio.timeout(WITHIN_S):
            for say, is_answered in self.steps[self.done : steps]:
                await loop.sock_sendall(self.socket, b"".join(say()))
                while not is_answered():
                    await self.read()
        self.done = steps

    async def read(self) -> None:
        data = await asyncio.get_running_loop().sock_recv(self.socket, 2**20)
        assert data, f"it hung up after {dict(self.course.seen)}"
        self.course.take(data)

    async def grant(self, credit: int) -> None:
        flow = Flow(
            next_incoming_id=0,
            incoming_window=2**31 - 1,
            next_outgoing_id=0,
            outgoing_window=99,
            handle=GET,
            delivery_count=0,
            link_credit=credit,
        )
        await asyncio.get_running_loop().sock_sendall(self.socket, said(flow))


async def stick(
    process: Process, by: tuple[str, str], *, rests_s: float, reads: bool
) -> tuple[int, float]:
    """Take a credit of a million, settle nothing, and go without a word.

    Args:
        process: the listener.
        by: a login.
        rests_s: the silence after which nothing more is thought to come.
        reads: whether what comes is read.

    Returns:
        Messages that were got, and by how many MB the listener grew.
    """
    before_mb = process.memory_mb
    client = Client(process.port, by, STUCK)
    await client.go_on(4)
    await client.grant(MILLION)
    try:
        while reads:
            async with asyncio.timeout(rests_s):
                await client.read()
    except TimeoutError:
        pass
    if not reads:
        await asyncio.sleep(2 * rests_s)
    grew_mb = process.memory_mb - before_mb
    client.socket.close()
    return len(client.course.got), grew_mb


def stuck(
    process: Process,
    by: tuple[str, str],
    messages: int,
    *,
    rests_s: float = 1.0,
    reads: bool = True,
) -> Stuck:
    """A consumer that is stuck with a queue of so many messages, which it is given."""
    missing = messages - Ready.objects.count()
    for some in range(0, missing, 1000):
        batch = min(1000, missing - some)
        put_many([NewMessage(STUCK, BODY) for _ in range(batch)])
    got, grew_mb = asyncio.run(stick(process, by, rests_s=rests_s, reads=reads))
    until = time.monotonic() + WITHIN_S
    while (there := Ready.objects.count()) < messages and time.monotonic() < until:
        time.sleep(0.1)
    assert not Claim.objects.exists(), "something is still held"
    return Stuck(got, grew_mb, there)


@contextmanager
def listening(log: Path) -> Iterator[tuple[Process, tuple[str, str]]]:
    """A listener for many, its queues, and a login."""
    for queue in (IDLE, STUCK):
        make_queue(queue)
    by = login()
    with launched(log, **WIDE) as process:
        yield process, by


def main() -> None:
    """Weigh as many connections as asked for, and consumers that are stuck."""
    parser = ArgumentParser(prog="tests.amqp.weighing", description=__doc__)
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--messages", type=int, default=50_000)
    given = parser.parse_args()
    allow_many_sockets()
    with (
        own_database("weigh"),
        TemporaryDirectory() as directory,
        listening(Path(directory) / "log") as (process, by),
    ):
        weight = asyncio.run(weigh(process, by, given.connections))
        print(f"{weight.connections:,} connections: {weight.open_kib:.1f} KiB each")
        print(f"with endpoints in all directions: {weight.attached_kib:.1f} KiB each")
        print(f"open files that were not there before: {weight.files_left}")
        for reads, what in ((True, "reads all"), (False, "reads nothing")):
            found = stuck(process, by, given.messages, rests_s=3.0, reads=reads)
            print(
                f"a consumer that settles nothing, and {what}, of {given.messages:,}:"
                f" it got {found.got:,}, the listener grew by {found.grew_mb:.1f} MB,"
                f" and {found.back:,} are back"
            )
        print("troubles in its log:", process.troubles())


if __name__ == "__main__":
    main()
