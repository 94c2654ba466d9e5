"""What the protocol of AMQP 1.0 itself takes of the processor, on the server's side.

Both ends are in this process, without sockets, threads and a database. What the clients
of ``loads`` send is given to the engine in pieces as large as a socket gives them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.events import Event, MessageReceived
from broker.amqp.protocol.performatives import Accepted
from broker.amqp.protocol.sections import DATA, encode_section
from tests.amqp.ends import Ends, of
from tests.amqp.exchange import HEADER
from tests.bench.figures import Figure
from tests.bench.loads import AHEAD, BODY

ROUNDS = 200  # of so many messages as are under way
PIECE = 2**18  # bytes that asyncio reads at once
MOST_US = 12  # of a message that goes in and out
TAG = b"sixteen bytes..."  # as long as the listener's
PARTS = (HEADER, encode_section(DATA, BODY))


class Timed(Ends):
    """Two ends; what the server takes of the processor is counted."""

    def __init__(self) -> None:
        super().__init__()
        session = self.begin()
        self.puts, self.put_to = self.putting(session)
        self.gets, self.got_from = self.getting(session)
        self.spent_s = 0.0

    def heard(self) -> list[Event]:
        """The server reads what the client has said."""
        data, told = self.client.outgoing(), list[Event]()
        pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
        began_s = time.thread_time()
        for piece in pieces:
            told += self.server.receive(piece)
        self.spent_s += time.thread_time() - began_s
        return told

    def said(self, say: Callable[..., None], *args: Any) -> list[Event]:
        """The client reads what the server says in this call."""
        began_s = time.thread_time()
        say(*args)
        data = self.server.outgoing()
        self.spent_s += time.thread_time() - began_s
        return self.client.receive(data)

    def comes_in(self) -> None:
        self.said(self.put_to.grant, AHEAD)
        for _ in range(AHEAD):
            self.puts.send(PARTS, tag=TAG)
        came = deliveries(self.heard())
        self.said(self.put_to.session.settle, came, Accepted())
        assert not self.puts.unsettled, "all are stored, as far as the client knows"

    def goes_out(self) -> None:
        self.gets.grant(AHEAD)
        self.heard()
        came = deliveries(self.said(self.send))
        self.gets.session.settle(came, Accepted())
        self.heard()
        assert not self.got_from.unsettled, "all are accepted, as the server knows"

    def send(self) -> None:
        payload = b"".join(PARTS)
        for _ in range(AHEAD):
            self.got_from.send(payload, tag=TAG)


def deliveries(told: list[Event]) -> list[Delivery]:
    return [event.delivery for event in of(MessageReceived, told)]


def measure() -> Iterator[Figure]:
    ends = Timed()
    us_in, us_out = us(ends, ends.comes_in), us(ends, ends.goes_out)
    yield Figure("the engine, a message in", us_in, "µs")
    yield Figure("the engine, a message out", us_out, "µs")
    both = us_in + us_out
    yield Figure("the engine, a message in and out", both, "µs", most=MOST_US)


def us(ends: Timed, work: Callable[[], None]) -> float:
    """Of the processor, for each message."""
    rounds = []
    for _ in range(ROUNDS):
        ends.spent_s = 0.0
        work()
        rounds.append(ends.spent_s / AHEAD * 1e6)
    return median(rounds)
