"""Two engines against each other: whatever they do, they agree when all has arrived.

Hypothesis sends, grants, drains, settles, detaches and attaches on both sides, and lets
bytes arrive in pieces of any size, so that each side acts on an old view of the other.
When the pipes are empty, both must have counted the same, and every message must have
come once, whole and in order, as long as its endpoint was there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from broker.amqp.protocol import events
from broker.amqp.protocol.connection import Connection, Limits
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Receiver, Sender
from broker.amqp.protocol.performatives import Accepted, Released, Source, Target
from tests.examples import examples

NAMES = ("a", "b")
SIZES = st.sampled_from([0, 1, 400, 401, 600, 2000])


@dataclass
class Side:
    """One engine, what its user remembers, and the pipe to it."""

    connection: Connection
    pipe: bytearray = field(default_factory=bytearray)
    senders: dict[str, Sender] = field(default_factory=dict)
    receivers: dict[str, Receiver] = field(default_factory=dict)
    sent: list[bytes] = field(default_factory=list)
    got: list[bytes] = field(default_factory=list)
    open_deliveries: list[Delivery] = field(default_factory=list)  # got, not settled
    outcomes: int = 0  # of what was sent

    def see(self, event: events.Event) -> None:
        match event:
            case events.Opened():
                self.connection.open()
            case events.Attached():
                self.attached(event)
            case events.MessageReceived():
                self.received(event)
            case events.Disposed():
                self.outcomes += len(event.deliveries)
            case events.Closed() | events.Ended():
                raise AssertionError(event)

    def attached(self, event: events.Attached) -> None:
        endpoint = event.endpoint
        endpoint.accept()
        if isinstance(endpoint, Sender):
            self.senders[endpoint.name] = endpoint
        elif isinstance(endpoint, Receiver):
            self.receivers[endpoint.name] = endpoint

    def received(self, event: events.MessageReceived) -> None:
        self.got.append(event.delivery.payload)
        if not event.delivery.settled:
            self.open_deliveries.append(event.delivery)


class Machine(RuleBasedStateMachine):
    @initialize(
        windows=st.tuples(st.integers(1, 5), st.integers(1, 5)),
        first_id=st.sampled_from([0, 2**32 - 3]),
    )
    def open(self, windows: tuple[int, int], first_id: int) -> None:
        self.numbers = count()
        self.sides = [
            Side(
                Connection(
                    name,
                    is_server=name == "server",
                    limits=Limits(max_frame_size=512, incoming_window=window),
                )
            )
            for name, window in zip(("client", "server"), windows, strict=True)
        ]
        for side in self.sides:
            side.connection.first_id = first_id
        self.detached = False  # messages may have been lost
        self.client, self.server = self.sides
        self.client.connection.open()
        self.session = self.client.connection.begin()
        for name in NAMES:
            self.attach(name, sends=True)
            self.attach(name, sends=False)
        self.all_arrives()
        for side in self.sides:
            for receiver in side.receivers.values():
                receiver.grant(4)
        self.all_arrives()

    def carry(self, at: int, size: int | None = None) -> bool:
        """Let bytes arrive at one of the sides; whether there were any."""
        side, other = self.sides[at], self.sides[1 - at]
        side.pipe += other.connection.outgoing()
        data = bytes(side.pipe[:size])
        del side.pipe[: len(data)]
        for event in side.connection.receive(data):
            side.see(event)
        return bool(data)

    @rule(at=st.integers(0, 1), size=st.integers(1, 1500))
    def some_bytes_arrive(self, at: int, size: int) -> None:
        self.carry(at, size)

    @rule()
    def all_arrives(self) -> None:
        while self.carry(0) | self.carry(1):
            pass

    @rule(name=st.sampled_from(NAMES), sends=st.booleans())
    def attach(self, name: str, sends: bool) -> None:
        if (name, not sends) in self.session.handles.named:
            return
        if sends:
            sender = self.session.sender(name, Source("a"), Target("b"))
            self.client.senders[name] = sender
        else:
            receiver = self.session.receiver(name, Source("a"), Target("b"))
            self.client.receivers[name] = receiver

    @rule(at=st.integers(0, 1), name=st.sampled_from(NAMES), credit=st.integers(0, 12))
    def grant(self, at: int, name: str, credit: int) -> None:
        if name in self.sides[at].receivers:
            self.sides[at].receivers[name].grant(credit)

    @rule(at=st.integers(0, 1), name=st.sampled_from(NAMES))
    def drain(self, at: int, name: str) -> None:
        receiver = self.sides[at].receivers.get(name)
        if receiver is not None:
            receiver.grant(receiver.credit, drain=True)

    @rule(at=st.integers(0, 1), name=st.sampled_from(NAMES))
    def give_credit_back(self, at: int, name: str) -> None:
        sender = self.sides[at].senders.get(name)
        if sender is not None and sender.drain:
            sender.drained()

    @rule(
        at=st.integers(0, 1),
        name=st.sampled_from(NAMES),
        sizes=st.lists(SIZES, min_size=1, max_size=4),
        settled=st.booleans(),
    )
    def send(self, at: int, name: str, sizes: list[int], settled: bool) -> None:
        side = self.sides[at]
        sender = side.senders.get(name)
        for size in sizes[: sender.credit] if sender is not None else []:
            number = b"%d" % next(self.numbers)
            side.sent.append(number.ljust(size, b"."))
            assert sender is not None
            sender.send(side.sent[-1], tag=number, settled=settled)

    @rule(at=st.integers(0, 1), which=st.sets(st.integers(0, 9)), ok=st.booleans())
    def settle(self, at: int, which: set[int], ok: bool) -> None:
        side = self.sides[at]
        chosen = [one for n, one in enumerate(side.open_deliveries) if n in which]
        for delivery in chosen:
            side.open_deliveries.remove(delivery)
        if chosen:
            session = chosen[0].endpoint.session
            session.settle(chosen[::-1], Accepted() if ok else Released())

    @rule(at=st.integers(0, 1), name=st.sampled_from(NAMES), sends=st.booleans())
    def detach(self, at: int, name: str, sends: bool) -> None:
        side = self.sides[at]
        endpoint: Sender | Receiver | None
        endpoint = (side.senders if sends else side.receivers).get(name)
        if endpoint is not None and not endpoint.gone:
            endpoint.detach()
            self.detached = True

    @invariant()
    def nobody_gets_more_than_was_sent(self) -> None:
        for side, other in self.pairs():
            assert set(side.got) <= set(other.sent)
            assert len(side.got) == len(set(side.got))

    @rule()
    def both_agree(self) -> None:
        self.all_arrives()
        for side, other in self.pairs():
            self.sessions_agree(side, other)
            for name, sender in side.senders.items():
                if sender.attached:
                    endpoints_agree(sender, other.receivers[name])
            if not self.detached:
                assert side.got == other.sent
                assert not side.open_deliveries or other.outcomes < len(other.sent)

    def sessions_agree(self, side: Side, other: Side) -> None:
        (ours,), (theirs,) = side.connection.sessions, other.connection.sessions
        assert not ours.outlet.waiting
        assert ours.outlet.next_id == theirs.next_incoming_id
        assert ours.outlet.room == theirs.room
        assert set(ours.outgoing) == set(theirs.incoming)
        assert side.connection.links == other.connection.links
        assert side.connection.partial_bytes == 0

    def pairs(self) -> list[tuple[Side, Side]]:
        return [(self.client, self.server), (self.server, self.client)]

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.both_agree()


def endpoints_agree(sender: Sender, receiver: Receiver) -> None:
    assert receiver.attached
    assert sender.credit == receiver.credit
    assert sender.delivery_count == receiver.delivery_count
    assert set(sender.unsettled) == set(receiver.unsettled)
    for number, delivery in sender.unsettled.items():
        assert delivery.tag == receiver.unsettled[number].tag


class TestMachine(Machine.TestCase):  # type: ignore[valid-type, misc]
    settings = settings(
        max_examples=examples(150), stateful_step_count=60, deadline=None
    )
