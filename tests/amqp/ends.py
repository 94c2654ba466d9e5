"""Two ends of a connection in one process, and one end that says whatever it likes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from broker.amqp.protocol import events
from broker.amqp.protocol.connection import Connection, Limits
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender
from broker.amqp.protocol.frames import AMQP_HEADER, Frames, frame
from broker.amqp.protocol.performatives import (
    Attach,
    Begin,
    Close,
    Flow,
    Open,
    Performative,
    Source,
    Target,
    Transfer,
    decode_performative,
    encode_performative,
)
from broker.amqp.protocol.session import Session

ORDERS, ELSEWHERE = "orders", "elsewhere"

E = TypeVar("E")


def whole(data: bytes) -> Iterable[bytes]:
    return [data]


def byte_by_byte(data: bytes) -> Iterable[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def accept(endpoint: Endpoint) -> None:
    endpoint.accept()


def of(kind: type[E], told: Iterable[events.Event]) -> list[E]:
    return [event for event in told if isinstance(event, kind)]


class Ends:
    """A client and a server, opened, and what each was told.

    Args:
        server: the bounds on the server's side.
        client: the same, of the client.
        cut: how what is sent arrives.
        attached: what the server does with an attach.
    """

    def __init__(
        self,
        *,
        server: Limits | None = None,
        client: Limits | None = None,
        cut: Callable[[bytes], Iterable[bytes]] = whole,
        attached: Callable[[Endpoint], None] = accept,
        first_id: int = 0,
    ) -> None:
        self.client = Connection("client", is_server=False, limits=client)
        self.server = Connection("server", is_server=True, limits=server)
        self.client.first_id = self.server.first_id = first_id
        self.cut = cut
        self.attached = attached
        self.client_told: list[events.Event] = []
        self.server_told: list[events.Event] = []
        self.client.open()
        self.run()

    def run(self) -> None:
        """Carry bytes to and fro until nobody has any left."""
        while self.carry_to_server() + self.carry_to_client():
            pass

    def carry_to_server(self) -> int:
        data = self.client.outgoing()
        for piece in self.cut(data):
            for event in self.server.receive(piece):
                self.server_told.append(event)
                self.serve(event)
        return len(data)

    def carry_to_client(self) -> int:
        data = self.server.outgoing()
        for piece in self.cut(data):
            self.client_told += self.client.receive(piece)
        return len(data)

    def serve(self, event: events.Event) -> None:
        if isinstance(event, events.Opened):
            self.server.open()
        if isinstance(event, events.Attached):
            self.attached(event.endpoint)

    def begin(self) -> Session:
        session = self.client.begin()
        self.run()
        return session

    def putting(
        self, session: Session, credit: int = 0, name: str = "put", **fields: Any
    ) -> tuple[Sender, Receiver]:
        """The client sends to the server, by this credit."""
        sender = session.sender(name, Source(ELSEWHERE), Target(ORDERS), **fields)
        self.run()
        receiver = self.server_side(sender)
        assert isinstance(receiver, Receiver)
        if credit:
            receiver.grant(credit)
            self.run()
        return sender, receiver

    def getting(
        self, session: Session, credit: int = 0, name: str = "get", **fields: Any
    ) -> tuple[Receiver, Sender]:
        """The server sends to the client, by this credit."""
        receiver = session.receiver(name, Source(ORDERS), Target(ELSEWHERE), **fields)
        if credit:
            receiver.grant(credit)
        self.run()
        sender = self.server_side(receiver)
        assert isinstance(sender, Sender)
        return receiver, sender

    def server_side(self, endpoint: Endpoint) -> Endpoint:
        """The newest of that name."""
        return [
            event.endpoint
            for event in of(events.Attached, self.server_told)
            if event.endpoint.name == endpoint.name
        ][-1]


class RawClient:
    """Says what it likes to a server, frame by frame."""

    def __init__(self, limits: Limits | None = None, **fields: Any) -> None:
        self.server = Connection("server", is_server=True, limits=limits, **fields)
        self.frames = Frames(2**32)
        self.told: list[events.Event] = []

    def hear(self, data: bytes) -> list[events.Event]:
        told = self.server.receive(data)
        for event in told:
            if isinstance(event, events.Opened):
                self.server.open()
        self.told += told
        return told

    def say(
        self, *said: Performative, channel: int = 0, payload: bytes = b""
    ) -> list[events.Event]:
        return self.hear(
            b"".join(frame(channel, encode_performative(one) + payload) for one in said)
        )

    def open(self, **fields: Any) -> None:
        self.hear(AMQP_HEADER)
        self.say(Open("client", **fields))
        assert self.server.outgoing()[:8] == AMQP_HEADER

    def begin(self, channel: int = 0, **fields: Any) -> Session:
        said = {"next_outgoing_id": 0, "incoming_window": 100, "outgoing_window": 100}
        told = self.say(Begin(**(said | fields)), channel=channel)
        assert isinstance(told[-1], events.Begun)
        session = told[-1].session
        assert isinstance(session, Session)
        return session

    def putting(self, handle: int = 0, name: str = "put", credit: int = 0) -> Receiver:
        told = self.say(put_attach(handle, name))
        assert isinstance(told[-1], events.Attached)
        receiver = told[-1].endpoint
        assert isinstance(receiver, Receiver)
        receiver.accept()
        receiver.grant(credit)
        return receiver

    def getting(self, handle: int = 0, name: str = "get") -> Sender:
        told = self.say(get_attach(handle, name))
        assert isinstance(told[-1], events.Attached)
        sender = told[-1].endpoint
        assert isinstance(sender, Sender)
        sender.accept()
        return sender

    def heard(self) -> list[tuple[int, Performative]]:
        """What the server has said since, by channel; without payloads."""
        data = self.server.outgoing().removeprefix(AMQP_HEADER)
        return [
            (channel, decode_performative(body, at, end)[0])
            for _, channel, body, at, end in self.frames.feed(data)
            if at < end
        ]

    def heard_of(self, kind: type[E]) -> list[E]:
        return [said for _, said in self.heard() if isinstance(said, kind)]

    def closed_for(self) -> str:
        """The condition for which the server has closed."""
        assert isinstance(self.told[-1], events.Closed)
        (close,) = self.heard_of(Close)
        assert close.error is not None
        assert close.error == self.told[-1].error
        return close.error.condition

    def closed_told(self) -> str:
        """The same, where it was not for what came."""
        self.hear(b"")
        return self.closed_for()


def opened(limits: Limits | None = None, **fields: Any) -> RawClient:
    client = RawClient(limits)
    client.open(**fields)
    return client


def begun(limits: Limits | None = None, **fields: Any) -> RawClient:
    client = opened(limits, **fields)
    client.begin()
    client.heard()
    return client


def put_attach(handle: int, name: str = "put") -> Attach:
    return Attach(
        name,
        handle,
        role=False,
        source=Source(ELSEWHERE),
        target=Target(ORDERS),
        initial_delivery_count=0,
    )


def get_attach(handle: int, name: str = "get") -> Attach:
    return Attach(
        name, handle, role=True, source=Source(ORDERS), target=Target(ELSEWHERE)
    )


def part(number: int, handle: int = 0, **fields: Any) -> Transfer:
    """A transfer of the delivery with this id."""
    return Transfer(handle, number, b"%d" % number, 0, **fields)


def link_flow(handle: int = 0, **fields: int | bool) -> Flow:
    flow = Flow(incoming_window=100, next_outgoing_id=0, outgoing_window=100)
    flow.next_incoming_id, flow.handle = 0, handle
    for name, value in fields.items():
        setattr(flow, name, value)
    return flow
