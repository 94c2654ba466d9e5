"""Clients that put, and clients that get, as fast as they are let; on ``Caller``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Protocol

from broker.amqp.protocol import sections
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Sender
from broker.amqp.protocol.events import Attached, Disposed, Event, MessageReceived
from broker.amqp.protocol.performatives import Accepted, DeliveryState, Source, Target
from broker.amqp.protocol.session import Session
from console.demo.caller import Caller, Program

HEADER = sections.encode_header(durable=True)


class Looks(Program, Protocol):
    """A program that is also called when all that came at once was told."""

    def looked(self) -> None:
        """The engine has been told everything that came."""


class Told(Caller):
    """A ``Caller`` of such a program."""

    program: Looks

    def take(self, data: bytes) -> None:
        super().take(data)
        self.program.looked()
        self.flush()


class Puts:
    """Puts durable messages, up to so many that are not confirmed.

    Args:
        queue: where to.
        bodies: gives the next body; None when there is no more for now.
        outcome: told of each body what became of it.
        ahead: messages that are not confirmed, at most.
    """

    flush: Callable[[], None]

    def __init__(
        self,
        queue: str,
        bodies: Callable[[], bytes | None],
        outcome: Callable[[bytes, DeliveryState | None], None],
        *,
        ahead: int,
    ) -> None:
        self.queue = queue
        self.bodies = bodies
        self.outcome = outcome
        self.ahead = ahead
        self.tags = (b"%d" % number for number in count())
        self.sender: Sender | None = None

    @property
    def unconfirmed(self) -> int:
        return len(self.sender.unsettled) if self.sender else 0

    def begin(self, session: Session) -> None:
        source, target = Source(""), Target(self.queue)
        self.sender = session.sender("put", source, target, snd_settle_mode=0)

    def handle_event(self, event: Event) -> None:
        if isinstance(event, Disposed):
            for delivery in event.deliveries:
                self.outcome(delivery.context, event.state)
            if not event.settled:
                event.endpoint.session.settle(event.deliveries, Accepted())

    def looked(self) -> None:
        if self.sender is not None:
            self.put(self.sender)

    def put(self, sender: Sender) -> None:
        """Put what may be put now."""
        while (
            sender.credit
            and sender.session.can_send
            and len(sender.unsettled) < self.ahead
            and (body := self.bodies()) is not None
        ):
            written = sections.encode_section(sections.DATA, body)
            delivery = sender.send((HEADER, written), tag=next(self.tags))
            delivery.context = body


class Gets:
    """Gets messages and accepts them.

    Args:
        queue: where from.
        got: told of all messages that came at once; gives those to be accepted.
        ahead: messages that come before the first is accepted.
        beyond: messages that are taken though there was no credit for them.
        confirmed: told what the other side says to be accepted; without it, nothing
            is said by the other side.
    """

    flush: Callable[[], None]

    def __init__(
        self,
        queue: str,
        got: Callable[[list[Delivery]], list[Delivery]],
        *,
        ahead: int,
        beyond: int = 0,
        confirmed: Callable[[list[Delivery]], None] | None = None,
    ) -> None:
        self.queue = queue
        self.got = got
        self.ahead = ahead
        self.beyond = beyond
        self.confirmed = confirmed
        self.came: list[Delivery] = []
        self.asked: list[Delivery] = []  # to be confirmed

    def begin(self, session: Session) -> None:
        source, target = Source(self.queue), Target("")
        self.receiver = session.receiver("get", source, target)

    def handle_event(self, event: Event) -> None:
        if isinstance(event, MessageReceived):
            self.came.append(event.delivery)
        elif isinstance(event, Attached):
            self.grant()

    def grant(self) -> None:
        self.receiver.grant(self.ahead)
        self.receiver.excess = self.beyond

    def looked(self) -> None:
        came, self.came = self.came, []
        if came:
            self.accept(self.got(came))
        if self.confirmed is not None and self.asked:
            done = [one for one in self.asked if one.settled]
            self.asked = [one for one in self.asked if not one.settled]
            self.confirmed(done)

    def accept(self, deliveries: list[Delivery]) -> None:
        """As those do that want to know, or as those that do not."""
        receiver = self.receiver
        wants_to_know = self.confirmed is not None
        receiver.session.settle(deliveries, Accepted(), settled=not wants_to_know)
        if wants_to_know:
            self.asked += deliveries
        if receiver.credit <= self.ahead // 2:
            self.grant()
