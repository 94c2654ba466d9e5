"""Transfers: messages in one frame and in many, whole, too large and given up."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.amqp.protocol import conditions
from broker.amqp.protocol.connection import Limits
from broker.amqp.protocol.endpoints import Receiver
from broker.amqp.protocol.events import (
    Attached,
    Closed,
    Detached,
    Ended,
    Event,
    MessageReceived,
)
from broker.amqp.protocol.frames import frame
from broker.amqp.protocol.performatives import (
    Accepted,
    Detach,
    Disposition,
    TransactionalState,
    Transfer,
    encode_performative,
)
from tests.amqp.ends import Ends, RawClient, begun, byte_by_byte, of, part, put_attach

SMALL_FRAMES = Limits(max_frame_size=512)


def detached_for(told: list[Event]) -> str:
    (detached,) = of(Detached, told)
    assert detached.closed
    assert detached.error is not None
    return detached.error.condition


def ended_for(told: list[Event]) -> str:
    (ended,) = of(Ended, told)
    assert ended.error is not None
    return ended.error.condition


def putting(limits: Limits | None = None, credit: int = 100) -> RawClient:
    client = begun(limits)
    client.putting(credit=credit)
    client.heard()
    return client


@given(
    payload=st.binary(max_size=3000),
    tag=st.binary(min_size=1, max_size=32),
    message_format=st.integers(0, 2**32 - 1),
    settled=st.booleans(),
    parts=st.lists(st.binary(max_size=700), max_size=3),
)
def test_a_message_arrives_as_it_was_sent(
    payload: bytes,
    tag: bytes,
    message_format: int,
    settled: bool,
    parts: list[bytes],
) -> None:
    ends = Ends(server=SMALL_FRAMES, client=SMALL_FRAMES)
    session = ends.begin()
    puts, receiver = ends.putting(session, credit=2)
    gets, sender = ends.getting(session, credit=2)

    for one in (puts, sender):
        one.send(payload, tag=tag, settled=settled, message_format=message_format)
        one.send(parts, tag=b"2")
    ends.run()

    for told, taker in ((ends.server_told, receiver), (ends.client_told, gets)):
        first, second = (event.delivery for event in of(MessageReceived, told))
        assert first.payload == payload
        assert first.tag == tag
        assert first.message_format == message_format
        assert first.settled == settled
        assert first.endpoint is second.endpoint is taker
        assert second.payload == b"".join(parts)
        assert (first.id in taker.unsettled) != settled
    assert len(puts.unsettled) == len(sender.unsettled) == 2 - settled


def test_a_message_of_many_frames_may_arrive_byte_by_byte() -> None:
    ends = Ends(server=SMALL_FRAMES, cut=byte_by_byte)
    sender, _ = ends.putting(ends.begin(), credit=1)
    sender.send(b"abc" * 1000, tag=b"a")
    ends.run()
    (received,) = of(MessageReceived, ends.server_told)
    assert received.delivery.payload == b"abc" * 1000


@pytest.mark.parametrize("state", [None, TransactionalState(bytes(32), Accepted())])
@pytest.mark.parametrize("size", [430, 431, 432, 433, 862, 863, 864, 865, 866])
def test_no_frame_is_larger_than_the_peer_takes(
    size: int, state: TransactionalState | None
) -> None:
    ends = Ends(server=SMALL_FRAMES)
    sender, _ = ends.putting(ends.begin(), credit=1)
    sender.send(bytes(size), tag=bytes(32), message_format=2**32 - 1, state=state)
    data = ends.client.outgoing()
    while data:
        length = int.from_bytes(data[:4], "big")
        assert length <= 512
        data = data[length:]


@pytest.mark.parametrize("size", [0, 10, 3000])
def test_a_message_can_be_sent_with_a_state(size: int) -> None:
    ends = Ends(server=SMALL_FRAMES)
    sender, _ = ends.putting(ends.begin(), credit=1)
    state = TransactionalState(b"t")
    sender.send(b"a" * size, tag=b"a", message_format=7, state=state)
    ends.run()
    (received,) = of(MessageReceived, ends.server_told)
    assert received.delivery.payload == b"a" * size
    assert received.delivery.state == state
    assert received.delivery.message_format == 7
    assert not received.delivery.settled


def test_messages_of_two_endpoints_may_come_mixed() -> None:
    client = begun()
    client.putting(0, "a", credit=2)
    client.putting(1, "b", credit=2)
    told = client.say(part(0, 0, more=True), payload=b"a1")
    told += client.say(part(1, 1, more=True), payload=b"b1")
    told += client.say(Transfer(0), payload=b"a2")
    told += client.say(Transfer(1, 1), payload=b"b2")
    got = [(one.delivery.id, one.delivery.payload) for one in of(MessageReceived, told)]
    assert got == [(0, b"a1a2"), (1, b"b1b2")]


def test_any_frame_of_a_message_may_settle_it_and_say_its_state() -> None:
    client = putting()
    state = TransactionalState(b"t")
    client.say(part(0, more=True))
    client.say(Transfer(0, settled=True, state=state, more=True))
    (received,) = client.say(Transfer(0))
    assert isinstance(received, MessageReceived)
    assert received.delivery.settled
    assert received.delivery.state == state
    assert received.receiver.unsettled == {}


@pytest.mark.parametrize(("size", "fits"), [(99, True), (100, True), (101, False)])
@pytest.mark.parametrize("frames", [1, 2])
def test_a_message_too_large_detaches(size: int, fits: bool, frames: int) -> None:
    client = putting(Limits(max_message_bytes=100))
    if frames > 1:
        assert client.say(part(0, more=True), payload=bytes(50)) == []
        told = client.say(Transfer(0), payload=bytes(size - 50))
    else:
        told = client.say(part(0), payload=bytes(size))
    assert bool(of(MessageReceived, told)) == fits
    if not fits:
        assert detached_for(told) == conditions.MESSAGE_SIZE_EXCEEDED
        assert client.heard_of(Detach)[0].closed
    assert client.server.partial_bytes == 0


def test_an_endpoint_may_take_less_than_the_connection_but_not_more() -> None:
    client = begun(Limits(max_message_bytes=100))
    for handle, (asked, most) in enumerate([(None, 100), (10, 10), (1000, 100)]):
        (event,) = client.say(put_attach(handle, f"{handle}"))
        assert isinstance(event, Attached)
        endpoint = event.endpoint
        assert isinstance(endpoint, Receiver)
        endpoint.accept(max_message_size=asked)
        assert endpoint.max_message_size == most


def test_a_message_that_never_ends_takes_no_memory() -> None:
    client = putting(Limits(max_message_bytes=100_000))
    tracemalloc.start()
    before = tracemalloc.take_snapshot()
    told = client.say(part(0, more=True), payload=bytes(60_000))
    for _ in range(200):
        told += client.say(Transfer(0, more=True), payload=bytes(60_000))
        client.server.outgoing()
    after = tracemalloc.take_snapshot()
    tracemalloc.stop()

    assert detached_for(told) == conditions.MESSAGE_SIZE_EXCEEDED
    assert client.server.partial_bytes == 0
    assert sum(s.size_diff for s in after.compare_to(before, "filename")) < 300_000
    assert client.say(Detach(0, closed=True)) == []
    client.putting(0, credit=1)
    assert of(MessageReceived, client.say(part(1)))


def test_frames_without_bytes_take_no_memory() -> None:
    client = putting()
    client.say(part(0, more=True))
    for _ in range(1000):
        client.say(Transfer(0, more=True))
    (received,) = client.say(Transfer(0))
    assert isinstance(received, MessageReceived)
    assert received.delivery.payload == b""


@pytest.mark.parametrize(("last", "is_good"), [(39, True), (40, True), (41, False)])
def test_all_that_comes_in_parts_is_bounded(last: int, is_good: bool) -> None:
    client = begun(Limits(partial_bytes=100))
    for handle in range(2):
        client.putting(handle, f"{handle}", credit=5)
    client.say(part(0, 0, more=True), payload=bytes(60))
    told = client.say(part(1, 1, more=True), payload=bytes(last))
    if is_good:
        assert told == []
    else:
        assert detached_for(told) == conditions.RESOURCE_LIMIT_EXCEEDED
        assert client.server.partial_bytes == 60
    client.say(Detach(0), Detach(1))
    assert client.server.partial_bytes == 0


def test_parts_are_forgotten_with_their_session() -> None:
    client = putting()
    client.say(part(0, more=True), payload=bytes(60))
    client.server.sessions[0].end()
    assert client.server.partial_bytes == 0


def test_a_message_given_up_is_no_message_but_uses_credit() -> None:
    client = begun()
    receiver = client.putting(credit=3)
    client.say(part(0, more=True), payload=b"a")
    told = client.say(Transfer(0, aborted=True), payload=b"b")
    told += client.say(part(1, aborted=True))
    assert told == []
    assert receiver.credit == 1
    assert receiver.unsettled == {}
    assert client.server.partial_bytes == 0
    (received,) = client.say(part(2), payload=b"c")
    assert isinstance(received, MessageReceived)
    assert received.delivery.payload == b"c"


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        (Transfer(0, None, b"tag"), conditions.INVALID_FIELD),
        (Transfer(0, 0), conditions.INVALID_FIELD),
        (Transfer(0, 0, b""), conditions.INVALID_FIELD),
        (Transfer(0, 0, b"tag", resume=True), conditions.NOT_IMPLEMENTED),
    ],
)
def test_a_delivery_that_cannot_be_detaches(said: Transfer, condition: str) -> None:
    client = putting()
    assert detached_for(client.say(said)) == condition


def test_a_tag_of_33_bytes_is_none() -> None:
    client = putting()
    body = encode_performative(Transfer(0, 0, b"T" * 32, 0))
    long = body.replace(b"\xa0\x20" + b"T" * 32, b"\xa0\x21" + b"T" * 33)
    assert len(long) == len(body) + 1
    at = long.index(b"\xc0") + 1
    (event,) = client.hear(frame(0, long[:at] + bytes([long[at] + 1]) + long[at + 1 :]))
    assert isinstance(event, Closed | Detached)


def test_a_delivery_ends_before_the_next_begins() -> None:
    client = putting()
    client.say(part(0, more=True))
    assert detached_for(client.say(part(1))) == conditions.NOT_ALLOWED


def test_a_transfer_to_what_sends_itself_ends_the_session() -> None:
    client = begun()
    client.getting()
    assert ended_for(client.say(part(0))) == conditions.NOT_ALLOWED


def test_an_id_is_not_used_again_before_it_is_settled() -> None:
    client = putting()
    (received,) = client.say(part(7))
    assert isinstance(received, MessageReceived)
    received.receiver.session.settle([received.delivery], Accepted())
    client.say(part(7))
    assert ended_for(client.say(part(7))) == conditions.NOT_ALLOWED


@pytest.mark.parametrize(("count", "is_good"), [(2, True), (3, True), (4, False)])
def test_what_is_not_settled_is_bounded(count: int, is_good: bool) -> None:
    client = putting(Limits(unsettled_incoming=3))
    told = client.say(*(part(number) for number in range(count)))
    told += client.say(part(9, settled=True))
    assert bool(of(Ended, told)) != is_good
    if not is_good:
        assert ended_for(told) == conditions.RESOURCE_LIMIT_EXCEEDED


def test_a_sender_may_settle_what_the_receiver_has_not() -> None:
    client = putting()
    told = client.say(*(part(number) for number in range(3)))
    deliveries = [event.delivery for event in of(MessageReceived, told)]

    assert client.say(Disposition(role=False, first=0, last=1, settled=True)) == []

    assert [one.settled for one in deliveries] == [True, True, False]
    session = deliveries[0].endpoint.session
    session.settle(deliveries, Accepted())
    (said,) = client.heard_of(Disposition)
    assert (said.first, said.last) == (2, None)


def test_sending_needs_credit_and_a_tag() -> None:
    ends = Ends()
    sender, _ = ends.putting(ends.begin())
    with pytest.raises(ValueError, match="no credit"):
        sender.send(b"a", tag=b"a")
    ends = Ends()
    sender, _ = ends.putting(ends.begin(), credit=1)
    for tag in (b"", bytes(33)):
        with pytest.raises(ValueError, match="a tag of"):
            sender.send(b"a", tag=tag)
    assert sender.credit == 1


def test_the_peer_says_how_large_a_message_may_be() -> None:
    ends = Ends(server=Limits(max_message_bytes=1000))
    session = ends.begin()
    sender, _ = ends.putting(session)
    assert sender.largest == 1000
    _, gets = ends.getting(session)
    assert gets.largest == 16 * 1024 * 1024
    assert begun().getting().largest is None
