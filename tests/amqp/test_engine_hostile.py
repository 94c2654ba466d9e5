"""Whatever comes, an engine answers with events: nothing is raised, nothing grows."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from broker.amqp.protocol.connection import Connection, Limits
from broker.amqp.protocol.events import Attached, Closed, MessageReceived, Opened
from broker.amqp.protocol.frames import AMQP_HEADER, frame
from broker.amqp.protocol.performatives import (
    Accepted,
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    Performative,
    Source,
    Target,
    Transfer,
    encode_performative,
)
from broker.amqp.protocol.sasl.scram import decoy
from broker.amqp.protocol.sasl.server import Denied, ServerSasl, WantsKeys

LIMITS = Limits(
    max_frame_size=2048,
    channel_max=2,
    sessions=2,
    handles=3,
    links=4,
    max_message_bytes=3000,
    partial_bytes=5000,
    incoming_window=20,
    unsettled_incoming=5,
)
few = st.integers(0, 4)
edges = st.sampled_from([0, 1, 2, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1])
numbers = few | edges
maybe = st.none() | numbers
states = st.none() | st.just(Accepted())

said = st.one_of(
    st.builds(Open, st.text(max_size=5)),
    st.builds(
        Begin,
        remote_channel=st.none() | few,
        next_outgoing_id=numbers,
        incoming_window=numbers,
        outgoing_window=numbers,
        handle_max=numbers,
    ),
    st.builds(
        Attach,
        st.sampled_from("ab"),
        few,
        st.booleans(),
        source=st.none() | st.just(Source("a")),
        target=st.none() | st.just(Target("b")),
        initial_delivery_count=maybe,
    ),
    st.builds(
        Flow,
        next_incoming_id=maybe,
        incoming_window=numbers,
        next_outgoing_id=numbers,
        outgoing_window=numbers,
        handle=st.none() | few,
        delivery_count=maybe,
        link_credit=maybe,
        drain=st.booleans(),
        echo=st.booleans(),
    ),
    st.builds(
        Transfer,
        few,
        maybe,
        st.none() | st.binary(max_size=3),
        st.none() | st.just(0),
        settled=st.none() | st.booleans(),
        more=st.booleans(),
        state=states,
        resume=st.booleans(),
        aborted=st.booleans(),
    ),
    st.builds(Disposition, st.booleans(), numbers, maybe, st.booleans(), states),
    st.builds(Detach, few, st.booleans()),
    st.builds(End),
)
payloads = st.sampled_from([b"", b"payload", bytes(1500)])
frames = st.builds(
    lambda channel, one, payload: frame(
        channel,
        encode_performative(one) + (payload if isinstance(one, Transfer) else b""),
    ),
    few,
    said,
    payloads,
)
CLOSED = frame(0, encode_performative(Close()))


def encoded(*performatives: Performative) -> bytes:
    return b"".join(frame(0, encode_performative(one)) for one in performatives)


def usual() -> bytes:
    """A client that has opened, with a session, a Receiver of ours and a Sender."""
    begin = Begin(next_outgoing_id=0, incoming_window=50, outgoing_window=50)
    return AMQP_HEADER + encoded(
        Open("client"),
        begin,
        Attach("put", 0, role=False, target=Target("b"), initial_delivery_count=0),
        Attach("get", 1, role=True, source=Source("a")),
    )


class Server:
    """A server whose user does all that users do."""

    def __init__(self) -> None:
        self.connection = Connection("server", is_server=True, limits=LIMITS)
        self.closed = 0

    def receive(self, data: bytes) -> None:
        for event in self.connection.receive(data):
            assert not self.closed, "nothing is told after the end"
            match event:
                case Opened():
                    self.connection.open()
                case Attached():
                    event.endpoint.accept()
                    if event.endpoint.role:
                        event.endpoint.grant(8)  # type: ignore[attr-defined]
                case MessageReceived():
                    event.receiver.session.settle([event.delivery], Accepted())
                case Closed():
                    self.closed += 1
        self.send()
        self.check()

    def send(self) -> None:
        for endpoint in self.connection.endpoints():
            if not endpoint.role and endpoint.credit:
                endpoint.send(b"m" * 3000, tag=b"t")  # type: ignore[attr-defined]
                endpoint.drained()  # type: ignore[attr-defined]

    def check(self) -> None:
        connection = self.connection
        assert connection.partial_bytes <= LIMITS.partial_bytes
        assert connection.links <= 2 * LIMITS.links
        assert len(connection.sessions) <= LIMITS.channel_max + 1
        if connection.active:
            assert not self.closed
            known = sum(session.handles.count for session in connection.sessions)
            live = sum(s.handles.count for s in connection.sessions if s.active)
            assert live == connection.links <= known
            parts = (getattr(end, "buffer", b"") for end in connection.endpoints())
            assert connection.partial_bytes == sum(map(len, parts))


@pytest.mark.thorough
@given(st.lists(frames, max_size=40), st.booleans())
@settings(max_examples=400, deadline=None)
def test_any_frames_in_any_order(said: list[bytes], at_once: bool) -> None:
    server = Server()
    server.receive(usual())
    assert server.connection.active
    for data in [b"".join(said)] if at_once else said:
        server.receive(data)
    server.receive(CLOSED)
    assert server.closed == 1
    assert not server.connection.active


@pytest.mark.thorough
@given(st.data())
@settings(max_examples=300, deadline=None)
def test_bytes_that_are_changed_on_the_way(data: st.DataObject) -> None:
    parts = data.draw(st.lists(frames, min_size=1, max_size=6))
    written = bytearray(usual() + b"".join(parts))
    places = st.integers(0, len(written) - 1)
    for at in data.draw(st.lists(places, min_size=1, max_size=5)):
        written[at] = data.draw(st.integers(0, 255))
    cut = data.draw(places)
    server = Server()
    server.receive(bytes(written[:cut]))
    server.receive(bytes(written[cut:]))


@given(st.binary(max_size=200))
@example(AMQP_HEADER + b"\0\0\0\x08\x02\0\0\0" * 3)
def test_any_bytes_at_all(data: bytes) -> None:
    Server().receive(data)
    server = Server()
    server.receive(AMQP_HEADER + data)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_instead_of_sasl(first: bytes, second: bytes) -> None:
    for begin in (b"", b"AMQP\3\1\0\0"):
        server = ServerSasl(["PLAIN", "SCRAM-SHA-256", "EXTERNAL", "ANONYMOUS"])
        for piece in (begin + first, second):
            question = server.receive(piece)
            if isinstance(question, WantsKeys):
                server.challenge(decoy(question.user, b"secret"))
            elif question is not None and not isinstance(question, Denied):
                server.accept()
