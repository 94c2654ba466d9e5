"""A client of the tests that gets: attach, credit, and what came."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Receiver
from broker.amqp.protocol.events import (
    Attached,
    Begun,
    Detached,
    Drained,
    MessageReceived,
)
from broker.amqp.protocol.frames import Frames
from broker.amqp.protocol.performatives import decode_performative
from broker.amqp.protocol.session import Session
from tests.amqp import listening
from tests.amqp.listening import Listening, Wire
from tests.amqp.putting import body_of, count_of

SETTLED = 1  # snd-settle-mode


@contextmanager
def listener(**options: Any) -> Iterator[Listening]:
    """As ``listening.listener``; its clients close at the end, if they have not."""
    with listening.listener(**options) as here:
        yield here
        for wire in here.wires:
            with suppress(OSError):
                wire.close()


@dataclass
class Getting:
    """One endpoint by which a client gets."""

    wire: Wire
    receiver: Receiver
    got: list[Delivery] = field(default_factory=list)

    @property
    def session(self) -> Session:
        session = self.receiver.session
        assert isinstance(session, Session)
        return session

    def grant(self, credit: int, *, drain: bool = False) -> None:
        self.receiver.grant(credit, drain=drain)
        self.wire.send()

    def get(self, count: int = 1) -> list[Delivery]:
        """As many more, which are waited for."""
        new = [
            self.wire.expect(MessageReceived, receiver=self.receiver).delivery
            for _ in range(count)
        ]
        self.got += new
        return new

    def drained(self) -> list[Delivery]:
        """What comes before the listener says that there is no more."""
        self.wire.expect(Drained, receiver=self.receiver)
        new = [
            event.delivery
            for event in self.wire.events
            if isinstance(event, MessageReceived) and event.receiver is self.receiver
        ]
        self.wire.events = [
            event
            for event in self.wire.events
            if not isinstance(event, MessageReceived)
        ]
        self.got += new
        return new

    def take_all(self, credit: int = 100) -> list[bytes]:
        """The bodies of all that is there now."""
        self.grant(credit, drain=True)
        return bodies(self.drained())

    def say(
        self,
        deliveries: list[Delivery],
        state: p.DeliveryState | None,
        *,
        settled: bool = True,
    ) -> None:
        self.session.settle(deliveries, state, settled=settled)
        self.wire.send()

    def answer_to(self, delivery: Delivery) -> p.DeliveryState | None:
        """With what the listener settles a delivery; it is waited for.

        It is read off the wire: our own engine has no use for it.
        """
        frames = Frames(65536)
        while True:
            data = self.wire.socket.recv(65536)
            assert data, "the listener hung up"
            self.wire.take(data)
            for _, _, read, at, end in frames.feed(data):
                said = decode_performative(read, at, end)[0] if at < end else None
                if isinstance(said, p.Disposition):
                    last = said.first if said.last is None else said.last
                    if said.settled and said.first <= delivery.id <= last:
                        return said.state

    def detach(self, *, closed: bool = True) -> None:
        """Detach, and wait for the answer."""
        self.receiver.detach(closed=closed)
        self.wire.expect(Detached, endpoint=self.receiver)

    def detached(self) -> p.Error:
        """Why the listener detaches."""
        error = self.wire.expect(Detached, endpoint=self.receiver).error
        assert error is not None
        return error


def attach(
    wire: Wire,
    queue: str = "orders",
    *,
    session: Session | None = None,
    name: str = "gets",
    mode: int = 0,
    **source: Any,
) -> Getting:
    """Attach to get, and wait for the answer.

    Args:
        wire: of a client that is open.
        queue: the address of the source.
        session: where; by default a new one.
        name: of the AMQP link.
        mode: snd-settle-mode.
        source: more fields of the source.
    """
    if session is None:
        session = wire.connection.begin()
        wire.expect(Begun, session=session)
    receiver = session.receiver(
        name, p.Source(address=queue, **source), p.Target(), snd_settle_mode=mode
    )
    attached = wire.expect(Attached, endpoint=receiver)
    assert attached.attach.source is not None, "it was refused"
    return Getting(wire, receiver)


def getting(here: Listening, queue: str = "orders", **options: Any) -> Getting:
    """A client that is connected, and attached to get."""
    return attach(here.client(), queue, **options)


def bodies(deliveries: list[Delivery]) -> list[bytes]:
    return [body_of(one) for one in deliveries]


def counts(deliveries: list[Delivery]) -> list[int]:
    """How often each was delivered in vain, as its header says."""
    return [count_of(one) for one in deliveries]
