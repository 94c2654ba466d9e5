"""A good session, step by step, as raw frames: what fuzzers begin with.

It puts, gets, settles, and does both in a transaction. Every step knows what the other
side has to answer before the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from broker.amqp.protocol.frames import (
    AMQP_HEADER,
    SASL,
    SASL_HEADER,
    Frames,
    frame,
)
from broker.amqp.protocol.performatives import (
    Accepted,
    Attach,
    Begin,
    Close,
    Coordinator,
    Declare,
    Declared,
    DeliveryState,
    Detach,
    Discharge,
    Disposition,
    End,
    Flow,
    Open,
    Performative,
    Released,
    SaslInit,
    SaslOutcome,
    Source,
    Target,
    TransactionalState,
    Transfer,
    decode_performative,
    encode_performative,
)
from broker.amqp.protocol.sections import DATA, VALUE, encode_header, encode_section

PUT, COORDINATE, GET = range(3)  # handles
DECLARES, IN_TRANSACTION, DISCHARGES = 3, 4, 5  # deliveries
HEADER = encode_header(durable=True)
BODY = HEADER + encode_section(DATA, b"fuzz")
HALF = 200  # bytes of a message in two frames


@dataclass
class Course:
    """One session: what was said to it so far, and what it says next.

    Attributes:
        seen: how often the other side sent which performative.
        confirmed: numbers of our deliveries that it has settled.
        got: numbers of its deliveries.
        errors: that it told.
        transaction: that it has declared.
    """

    user: str
    secret: str
    queue: str
    seen: Counter[type] = field(default_factory=Counter)
    confirmed: set[int] = field(default_factory=set)
    got: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    transaction: bytes = b"\0\0\0\1"
    unread: bytes = b""
    is_header_due: bool = True
    frames: Frames = field(default_factory=lambda: Frames(65_536))

    def take(self, data: bytes) -> None:
        """Learn from what came."""
        self.unread += data
        if self.is_header_due and len(self.unread) < len(AMQP_HEADER):
            return
        if self.is_header_due:
            self.unread = self.unread[len(AMQP_HEADER) :]
            self.is_header_due = False
        data, self.unread = self.unread, b""
        for _, _, body, begin, end in self.frames.feed(data):
            if begin == end:
                continue
            performative, _ = decode_performative(body, begin, end)
            self.learn(performative)
            if isinstance(performative, SaslOutcome):
                self.unread, self.is_header_due = self.frames.rest(), True
                self.take(b"")
                return

    def learn(self, said: Performative) -> None:
        self.seen[type(said)] += 1
        if isinstance(said, Detach | End | Close) and said.error is not None:
            self.errors.append(f"{said.error.condition}: {said.error.description}")
        if isinstance(said, Transfer) and said.delivery_id is not None:
            self.got.append(said.delivery_id)
        if isinstance(said, Disposition) and said.role:
            last = said.first if said.last is None else said.last
            self.confirmed.update(range(said.first, last + 1))
            if isinstance(said.state, Declared):
                self.transaction = said.state.txn_id

    # The steps.

    def log_in(self) -> list[bytes]:
        response = f"\0{self.user}\0{self.secret}".encode()
        return [SASL_HEADER, said(SaslInit("PLAIN", response, "localhost"), SASL)]

    def open(self) -> list[bytes]:
        return [AMQP_HEADER, said(Open("fuzzer", "localhost", channel_max=9))]

    def begin(self) -> list[bytes]:
        begin = Begin(next_outgoing_id=0, incoming_window=99, outgoing_window=99)
        return [said(begin)]

    def attach(self) -> list[bytes]:
        queue = self.queue
        return [
            said(one)
            for one in (
                sending(Attach("put", PUT, role=False, target=Target(queue))),
                sending(Attach("tx", COORDINATE, role=False, target=Coordinator())),
                Attach("get", GET, role=True, source=Source(queue), target=Target("")),
            )
        ]

    def put(self) -> list[bytes]:
        whole = [transfer(PUT, number, BODY) for number in (0, 1)]
        large = HEADER + encode_section(DATA, bytes(2 * HALF))
        first = transfer(PUT, 2, large[:HALF], more=True)
        return [*whole, first, said(Transfer(PUT), payload=large[HALF:])]

    def flow(self) -> list[bytes]:
        flow = Flow(
            next_incoming_id=0,
            incoming_window=99,
            next_outgoing_id=4,
            outgoing_window=99,
            handle=GET,
            delivery_count=0,
            link_credit=10,
        )
        return [said(flow)]

    def settle(self) -> list[bytes]:
        first = min(self.got, default=0)
        return [
            disposition(first, Accepted(), settled=True),
            disposition(first + 1, Released(), settled=True),
        ]

    def declare(self) -> list[bytes]:
        return [transfer(COORDINATE, DECLARES, encode_section(VALUE, Declare()))]

    def transact(self) -> list[bytes]:
        accepted = TransactionalState(self.transaction, Accepted())
        last = max(self.got, default=2)
        return [
            transfer(
                PUT, IN_TRANSACTION, BODY, state=TransactionalState(self.transaction)
            ),
            disposition(last, accepted),
        ]

    def discharge(self) -> list[bytes]:
        discharge = Discharge(self.transaction, fail=False)
        return [transfer(COORDINATE, DISCHARGES, encode_section(VALUE, discharge))]

    def close(self) -> list[bytes]:
        detaches = [Detach(handle, closed=True) for handle in (GET, PUT, COORDINATE)]
        return [*map(said, detaches), said(End()), said(Close())]

    def steps(self) -> list[tuple[Callable[[], list[bytes]], Callable[[], bool]]]:
        """What to say, and whether it was answered."""
        seen, confirmed = self.seen, self.confirmed
        return [
            (self.log_in, lambda: bool(seen[SaslOutcome])),
            (self.open, lambda: bool(seen[Open])),
            (self.begin, lambda: bool(seen[Begin])),
            (self.attach, lambda: seen[Attach] == 3 and seen[Flow] >= 2),
            (self.put, lambda: confirmed >= {0, 1, 2}),
            (self.flow, lambda: bool(self.got)),
            (self.settle, lambda: True),
            (self.declare, lambda: DECLARES in confirmed),
            (self.transact, lambda: IN_TRANSACTION in confirmed),
            (self.discharge, lambda: DISCHARGES in confirmed),
            (self.close, lambda: bool(seen[Close])),
        ]


def said(performative: Performative, kind: int = 0, *, payload: bytes = b"") -> bytes:
    return frame(0, encode_performative(performative) + payload, kind=kind)


def sending(attach: Attach) -> Attach:
    attach.source, attach.initial_delivery_count = Source(""), 0
    return attach


def transfer(
    handle: int,
    number: int,
    payload: bytes,
    *,
    more: bool = False,
    state: TransactionalState | None = None,
) -> bytes:
    tag = number.to_bytes(4, "big")
    part = Transfer(handle, number, tag, 0, settled=False, more=more, state=state)
    return said(part, payload=payload)


def disposition(number: int, state: DeliveryState, *, settled: bool = False) -> bytes:
    return said(Disposition(role=True, first=number, settled=settled, state=state))
