"""Batches of messages: what one Backout hands to another is equal, field by field."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.amqp.messages import batches
from broker.amqp.messages.batches import (
    FIXED,
    MAGIC,
    BatchPart,
    opened,
    sealed,
    unpacked,
)
from broker.amqp.protocol.types.types import Int, Timestamp
from broker.errors import InvalidMessage
from broker.errors.messages import InvalidBatch
from broker.models import RoutingType
from broker.queueing.store import REPAIRED, NewMessage
from tests.amqp.messages_drawn import BARE, BEFORE
from tests.amqp.test_messages_ibm import DESCRIPTORS, annotations_of, written
from tests.amqp.written import (
    NOON_MS,
    annotated,
    application,
    came,
    data,
    kept,
    properties,
    sent,
    without_header,
)
from tests.make import NOON, minutes, seconds

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WORDS = st.none() | TEXTS
MOMENTS = st.none() | st.datetimes(timezones=st.just(NOON.tzinfo))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=5,
)
PLAIN = st.builds(
    NewMessage,
    address=TEXTS,
    body=st.binary(max_size=30),
    content_type=st.sampled_from(
        [
            *("text/plain", "text/plain; charset=utf-8", "text/plain; charset=latin-1"),
            *("application/json", "application/octet-stream", "größe/x", "text/xml"),
        ]
    ),
    properties=st.dictionaries(TEXTS, JSON, max_size=4),
    priority=st.integers(0, 9),
    durable=st.booleans(),
    expires_at=MOMENTS,
    deliver_at=MOMENTS,
    message_id=WORDS,
    correlation_id=WORDS,
    reply_to=WORDS,
    subject=WORDS,
    group_id=WORDS,
    producer=TEXTS,
    routing_type=st.none() | st.sampled_from(RoutingType),
    descriptor=st.none() | st.just({"msg_type": 8, "user_identifier": "till"}),
    headers=st.none() | st.binary(max_size=20),
)


def over(message: NewMessage, whose: str | None = None) -> NewMessage:
    """A message as it arrives."""
    (part,) = opened(sealed([message])).parts
    return unpacked(part, whose)


@given(PLAIN)
def test_what_was_put_without_amqp_arrives_as_it_was(message: NewMessage) -> None:
    assert over(message) == message


@given(before=BEFORE, bare=BARE)
def test_what_came_by_amqp_arrives_as_it_was(before: bytes, bare: bytes) -> None:
    message = came(before + bare)

    assert over(message) == message


@given(DESCRIPTORS)
def test_a_descriptor_that_came_by_amqp_arrives(fields: dict[str, Any]) -> None:
    payload = written(fields) + properties(reply_to="answers") + data()
    message = replace(came(payload, may_set_identity=True), headers=b"RFH2")

    arrived = over(message)

    assert replace(arrived, envelope=message.envelope) == message
    assert annotations_of(sent(arrived)) == annotations_of(sent(message))
    assert without_header(sent(arrived)).endswith(data())


@pytest.mark.parametrize("ttl_ms", [1, 3_600_000, 2**32 + 1_000])
def test_an_expiry_is_exact_and_the_envelope_remembers_it(ttl_ms: int) -> None:
    at = Timestamp(NOON_MS + ttl_ms)
    message = came(properties(absolute_expiry_time=at) + data())
    exact = NOON + seconds(ttl_ms / 1000)
    assert message.expires_at == exact

    assert over(message) == message
    assert b"x-opt-orig-expiry" not in sent(over(message))


def test_an_expiry_that_was_taken_away_stays_away() -> None:
    at = Timestamp(NOON_MS + 60_000)
    message = came(properties(absolute_expiry_time=at) + data())

    arrived = over(replace(message, expires_at=None))

    assert arrived.expires_at is None
    assert b"x-opt-orig-expiry" in sent(arrived)


def test_a_delay_that_is_over_does_not_begin_again() -> None:
    payload = annotated(x_opt_delivery_delay=Int(60_000)) + data()
    message = came(payload)
    assert message.deliver_at == NOON + minutes(1)

    assert over(message) == message
    assert over(replace(message, deliver_at=None)).deliver_at is None


def test_what_was_repaired_arrives_as_its_columns_have_it() -> None:
    message = came(properties(subject="old") + application({"a": Int(1)}) + data(b"x"))
    assert message.envelope is not None
    flags = bytes([message.envelope[0] | REPAIRED])
    repaired = replace(
        message,
        subject="new",
        properties={"a": 2},
        body=b"mended",
        envelope=flags + message.envelope[1:],
    )

    arrived = over(repaired)

    assert (arrived.subject, arrived.properties) == ("new", {"a": 2})
    assert arrived.body == b"mended"
    assert sent(arrived) == sent(repaired)


def test_a_dead_letter_arrives_with_what_is_said_of_its_death() -> None:
    message = came(properties(message_id="7") + data())
    said = {"_BRK_DEATH_REASON": "rejected", "_AMQ_ORIG_QUEUE": "orders"}

    arrived = over(replace(message, properties=said))

    assert arrived.properties == said


def test_what_was_got_is_what_was_put() -> None:
    message = came(properties(message_id="7", group_id="g") + data())

    assert batches.as_put(kept(message)) == replace(message, deliver_at=None)
    assert batches.as_put(batches.as_delivery(message)) == message


def test_order_heads_and_what_is_told_of_each_are_kept() -> None:
    messages = [NewMessage("orders", str(n).encode()) for n in range(5)]

    batch = opened(sealed(messages, {"branch": "b"}, [{"id": n} for n in range(5)]))

    assert batch.head == {"branch": "b"}
    assert [part.fields["more"]["id"] for part in batch.parts] == [0, 1, 2, 3, 4]
    assert [unpacked(part) for part in batch.parts] == messages
    assert opened(b"").parts == ()


@pytest.mark.parametrize(
    "payload",
    [properties(user_id=b"boss") + data(), written({"user_identifier": "x"}) + data()],
)
def test_nobody_says_that_a_message_is_somebody_else_s(payload: bytes) -> None:
    message = came(payload + data(), may_set_identity=True)
    plain = NewMessage("orders", descriptor={"user_identifier": "boss"})

    for one in (message, plain):
        assert over(one) == one
        with pytest.raises(InvalidMessage, match="passall"):
            over(one, "shop")


def batch_of(head: object, contents: bytes = b"") -> bytes:
    said = json.dumps(head).encode()
    return FIXED.pack(MAGIC, len(said)) + said + contents


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{}", "does not begin"),
        (b"BOM2\0\0\0\2{}", "does not begin"),
        (b"BOM1\0\0\0\3{}", "cut off"),
        (b"BOM1\0\0\0\2{]", "no JSON"),
        (batch_of([]), "no object"),
        (batch_of({"messages": {}}), "no list"),
        (batch_of({"messages": [7]}), "no right size"),
        (batch_of({"messages": [{"size": True}]}, b"x"), "no right size"),
        (batch_of({"messages": [{"size": 2}]}, b"x"), "no right size"),
        (batch_of({"messages": [{"size": -1}]}, b"x"), "no right size"),
        (batch_of({"messages": [{"size": 0}]}, b"x"), "longer"),
    ],
)
def test_what_is_no_batch_is_told(body: bytes, why: str) -> None:
    with pytest.raises(InvalidBatch, match=why):
        opened(body)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"address": 7},
        {"address": "a", "color": "red"},
        {"address": "a", "priority": 10},
        {"address": "a", "priority": True},
        {"address": "a", "expires_at": "2026-03-14T12:00:00"},
        {"address": "a", "expires_at": "soon"},
        {"address": "a", "routing_type": 9},
        {"address": "a", "envelope": "AAAA"},
        {"address": "a", "headers": 9},
        {"address": "a", "headers": "AAAA"},
        {"address": "a", "body": "x"},
        {"address": "a", "amqp": True, "subject": "s"},
        {"address": "a", "amqp": True},
    ],
)
def test_what_is_no_message_is_told(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidMessage):
        unpacked(BatchPart(fields, b"\0\x53"))


@example(b"BOM1\xff\xff\xff\xff")
@given(st.binary(max_size=40).map(lambda rest: MAGIC + b"\0\0\0\2{}" + rest))
def test_any_bytes_are_a_batch_or_told(body: bytes) -> None:
    try:
        assert opened(body).parts == []
    except InvalidBatch:
        return
