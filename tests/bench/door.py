"""The listener for AMQP 1.0 against the broker's own API, and against RabbitMQ's.

Durable messages of 1 KiB go in, out, and both at once. What is compared runs in the
same minute, in short slices in random order.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from broker.amqp import ports
from tests.amqp.certifying import certify
from tests.amqp.launching import HOST, Process, launched, login
from tests.bench import engine, ground
from tests.bench.clients import Slice
from tests.bench.figures import Figure
from tests.bench.loads import AHEAD, Loads, Place, loads
from tests.bench.plugin import plugin
from tests.bench.slices import Cell, ratios

QUEUE = "amqp"
IN, OUT, BOTH = "in", "out", "in and out at once"
DIRECT, PLAIN, TLS = "the API", "AMQP", "AMQP over TLS"
RABBIT = "RabbitMQ's AMQP 1.0"
LEAST = 2  # times RabbitMQ's rate
SECONDS = 2  # of a slice, in those of the other cells: a connection is made for it
ROUNDS = 4  # at most
UNDER_WAY = (1, AHEAD)  # messages of a client of AMQP, or in a batch of the API


@dataclass
class Rates:
    """Of one server: messages a second in each round, and seconds of its loop."""

    rounds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    loop_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    messages: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def loop_us(self, work: str) -> float:
        """Of the processor, for each message."""
        return self.loop_s[work] / self.messages[work] * 1e6


def measure(cell: Cell, database: str) -> Iterator[Figure]:
    ground.clear()
    cell.ready.clear()
    ground.settle_down()
    with (
        loads(database) as load,
        listener() as (process, places),
        plugin() as rabbits,
    ):
        if rabbits is not None:
            places[RABBIT] = rabbits
        rates = {
            ahead: rates_of(cell, load, process, places, ahead) for ahead in UNDER_WAY
        }
    ground.check(cell.ready)
    for ahead, found in rates.items():
        for work in (IN, OUT, BOTH):
            yield from compared(work, found, ahead)
    yield from engine.measure()
    yield from loop_figures(rates[AHEAD][PLAIN], "")
    yield from loop_figures(rates[AHEAD][TLS], ", TLS")


@contextmanager
def listener() -> Iterator[tuple[Process, dict[str, Place]]]:
    """A process that listens with TLS and without, and where all loads go."""
    with TemporaryDirectory() as name:
        certified = certify(Path(name))
        tls_port = ports.free(HOST, 0, is_fixed=True)
        files = {
            "BROKER_AMQP_CERTIFICATE": str(certified.server.certificate),
            "BROKER_AMQP_KEY": str(certified.server.key),
        }
        by = login("bench")
        options = ("--port=0", f"--tls-port={tls_port}")
        with launched(Path(name) / "log", *options, **files) as process:
            authority = str(Path(name) / "authority.pem")
            yield (
                process,
                {
                    DIRECT: Place(QUEUE),
                    PLAIN: Place(QUEUE, process.port, by),
                    TLS: Place(QUEUE, tls_port, by, authority),
                },
            )


def rates_of(
    cell: Cell, load: Loads, process: Process, places: dict[str, Place], ahead: int
) -> dict[str, Rates]:
    """All works on all servers, round by round; each leaves the queue empty."""
    rates = {name: Rates() for name in places}
    for number in range(min(cell.size.rounds, ROUNDS) + 1):
        for name in random.sample(list(places), len(places)):
            found = Rates() if not number else rates[name]  # the first warms up
            seconds = SECONDS * cell.size.seconds
            one_round(found, load, places[name], process, seconds, ahead)
    return rates


def one_round(
    rates: Rates,
    load: Loads,
    place: Place,
    process: Process,
    seconds: float,
    ahead: int,
) -> None:
    with watched(rates, IN, process):
        put = load.put(place, seconds, ahead)
        note(rates, IN, put)
    with watched(rates, OUT, process):
        note(rates, OUT, load.get(place, put.messages, ahead))
    with watched(rates, BOTH, process):
        put, got = load.both(place, seconds, ahead)
        note(rates, BOTH, got)
    if put.messages > got.messages:
        load.get(place, put.messages - got.messages, AHEAD)


def note(rates: Rates, work: str, done: Slice) -> None:
    rates.rounds[work].append(done.rate)
    rates.messages[work] += done.messages


@contextmanager
def watched(rates: Rates, work: str, process: Process) -> Iterator[None]:
    """Count what the loop of the listener takes of the processor."""
    before_s = loop_s(process)
    yield
    rates.loop_s[work] += loop_s(process) - before_s


def loop_s(process: Process) -> float:
    """Seconds that its first thread, in which the loop is, has run."""
    text = Path(f"/proc/{process.pid}/task/{process.pid}/schedstat").read_text()
    return int(text.split()[0]) / 1e9


def compared(work: str, rates: dict[str, Rates], ahead: int) -> Iterator[Figure]:
    """Each server's rate, beside what it is judged by."""
    found = {name: one.rounds[work] for name, one in rates.items()}
    words = f", {work}, {ahead} under way"
    yield figure(f"{DIRECT}{words}", found[DIRECT])
    if RABBIT in found:
        yield figure(f"{RABBIT}{words}", found[RABBIT])
    yield figure(f"{PLAIN}{words}", found[PLAIN], DIRECT, found[DIRECT])
    yield figure(f"{TLS}{words}", found[TLS], PLAIN, found[PLAIN])
    if RABBIT in found:
        least = LEAST if ahead == AHEAD else None
        yield figure(f"{PLAIN}{words}", found[PLAIN], RABBIT, found[RABBIT], least)
    elif work == IN:
        yield Figure(f"{RABBIT} is not here, and is not measured", 0, "")


def figure(
    words: str,
    these: list[float],
    against: str = "",
    those: list[float] | None = None,
    least: float | None = None,
) -> Figure:
    ratio = median(ratios(these, those)) if those else None
    return Figure(words, median(these), "messages/s", against, ratio, least)


def loop_figures(rates: Rates, words: str) -> Iterator[Figure]:
    for work in (IN, OUT, BOTH):
        us = rates.loop_us(work)
        yield Figure(f"the listener's loop, a message {work}{words}", us, "µs")
