"""A good client beside bad ones: it puts a message, gets it, accepts it, and again."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from broker.amqp.protocol import sections
from broker.amqp.protocol.events import Attached, Disposed, Event, MessageReceived
from broker.amqp.protocol.performatives import Accepted, Source, Target
from broker.amqp.protocol.session import Session
from console.demo.caller import Caller

HEADER = sections.encode_header(durable=True)
AHEAD = 10


class Served:
    """One connection with an endpoint in each direction.

    Attributes:
        rounds: messages that were put, confirmed and got.
        slowest_s: of these rounds.
    """

    flush: Callable[[], None]

    def __init__(self, queue: str) -> None:
        self.queue = queue
        self.loop = asyncio.get_running_loop()
        self.mine = secrets.token_hex(8).encode()
        self.rounds = 0
        self.slowest_s = 0.0
        self.began_s = self.loop.time()
        self.is_waiting = False
        self.is_confirmed = self.is_got = False

    def begin(self, session: Session) -> None:
        self.sender = session.sender("put", Source(""), Target(self.queue))
        self.receiver = session.receiver("get", Source(self.queue), Target(""))

    def handle_event(self, event: Event) -> None:
        match event:
            case Attached(endpoint=endpoint) if endpoint is self.receiver:
                self.receiver.grant(AHEAD)
            case MessageReceived():
                self.got(event.delivery.payload)
                self.receiver.session.settle([event.delivery], Accepted())
                self.receiver.grant(AHEAD)
            case Disposed():
                assert isinstance(event.state, Accepted), event.state
                self.receiver.session.settle(event.deliveries, Accepted())
                self.is_confirmed = True
        self.go_on()

    def got(self, payload: bytes) -> None:
        """What an earlier client has left behind is no matter."""
        if self.mine in payload:
            assert payload.endswith(self.body), "it comes again, or too late"
            self.is_got = True

    @property
    def body(self) -> bytes:
        return self.mine + b" %d" % self.rounds

    def go_on(self) -> None:
        if self.is_got and self.is_confirmed:
            self.slowest_s = max(self.slowest_s, self.waited_s)
            self.is_got = self.is_confirmed = self.is_waiting = False
            self.rounds += 1
        if not self.is_waiting and self.sender.credit and self.receiver.credit:
            self.is_waiting = True
            self.began_s = self.loop.time()
            body = sections.encode_section(sections.DATA, self.body)
            self.sender.send((HEADER, body), tag=b"%d" % self.rounds)

    @property
    def waited_s(self) -> float:
        """For the round that goes on."""
        return self.loop.time() - self.began_s


async def serve(
    host: str, port: int, login: tuple[str, str], queue: str
) -> tuple[Served, Caller]:
    """Begin; it goes on as long as the loop runs, or until ``Caller.over``."""
    loop = asyncio.get_running_loop()
    served = Served(queue)
    user, secret = login
    caller = Caller(served, container_id="good", user=user, secret=secret)
    await loop.create_connection(lambda: caller, host, port)
    return served, caller
