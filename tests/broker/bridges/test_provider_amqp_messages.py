"""What a message is to a provider of AMQP, and what one of its is to a link. Pure."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, cast

import pytest
from hypothesis import given

from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.sections import (
    Properties,
    encode_header,
    map_of,
    properties_of,
    split,
)
from broker.amqp.protocol.types.types import Byte, Symbol, Timestamp
from broker.bridges.messages import changed
from broker.bridges.providers.amqp.messages import inbound, outbound
from broker.bridges.providers.interface import Destination, Received
from broker.queueing.store import NewMessage
from tests.amqp.messages_drawn import BARE
from tests.amqp.written import (
    NOON_MS,
    VALUE,
    annotated,
    application,
    came,
    data,
    header_of,
    properties,
    section,
)
from tests.make import NOON, minutes

SOURCE, TARGET = Destination("orders"), Destination("stock")
MINUTE_MS = 60_000
SEND = {"message_id", "user_id", "to", "absolute_expiry_time", "creation_time"}


def got(payload: bytes, **others: Any) -> Received:
    delivery = Delivery(1, b"1", cast(Any, None), payload)
    return inbound(delivery, SOURCE, NOON, **others)


def out(message: NewMessage, target: Destination = TARGET) -> bytes:
    return outbound(
        message, target, address=f"/q/{target.name}", message_id="ID:new", now=NOON
    )


def said(payload: bytes) -> Properties:
    return properties_of(split(payload).properties)


# Out.


@given(BARE)
def test_what_a_send_does_not_set_leaves_byte_for_byte(bare: bytes) -> None:
    before, after = split(bare), split(out(came(bare)))

    assert after.application_properties == before.application_properties
    assert after.body == before.body
    assert after.footer == before.footer
    was, now = properties_of(before.properties), properties_of(after.properties)
    for name in {field.name for field in fields(Properties)} - SEND:
        assert getattr(now, name) == getattr(was, name)
    assert map_of(after.annotations).items() >= map_of(before.annotations).items()


@pytest.mark.spec("BRIDGE-8")
@pytest.mark.parametrize("with_envelope", [True, False])
def test_a_send_sets_the_id_the_destination_the_time_and_the_expiry(
    with_envelope: bool,
) -> None:
    first = properties(
        message_id="ID:old",
        user_id=b"shop",
        to="orders",
        absolute_expiry_time=Timestamp(NOON_MS + MINUTE_MS),
        creation_time=Timestamp(1),
        correlation_id="c",
        subject="typed",
    )
    message = came(encode_header(durable=True, priority=7) + first + data())
    if not with_envelope:
        message.envelope = None

    payload = out(message)

    assert said(payload) == Properties(
        message_id="ID:new",
        to="/q/stock",
        subject="typed",
        correlation_id="c",
        content_type=None if with_envelope else "application/octet-stream",
        absolute_expiry_time=NOON_MS + MINUTE_MS,
        creation_time=NOON_MS,
    )
    header = header_of(payload)
    assert (header.durable, header.priority, header.ttl) == (True, 7, MINUTE_MS)
    assert header.delivery_count == 0


@pytest.mark.parametrize(
    ("target", "kind"), [(TARGET, 0), (Destination("news", is_topic=True), 1)]
)
@pytest.mark.parametrize("envelope", [True, False])
def test_clients_of_jms_are_told_what_the_target_is(
    target: Destination, kind: int, envelope: bool
) -> None:
    message = came(annotated(x_opt_jms_dest=Byte(1 - kind)) + data())
    if not envelope:
        message.envelope = None
    found = map_of(split(out(message, target)).annotations)
    assert found[Symbol("x-opt-jms-dest")] == kind


def test_a_reply_address_that_was_taken_away_leaves_nothing_behind() -> None:
    message = came(
        annotated(x_opt_jms_reply_to=Byte(0)) + properties(reply_to="b") + data()
    )

    payload = out(changed(message, reply_to=None))

    assert said(payload).reply_to is None
    assert Symbol("x-opt-jms-reply-to") not in map_of(split(payload).annotations)


@pytest.mark.parametrize(
    "delay",
    [{"x_opt_delivery_delay": 5000}, {"x_opt_delivery_time": NOON_MS + 5000}],
)
def test_a_delay_that_is_over_does_not_begin_again(delay: dict[str, int]) -> None:
    received = got(annotated(**delay) + data())
    assert received.message.deliver_at is None
    found = map_of(split(out(received.message)).annotations)
    assert list(found) == ["x-opt-jms-dest"]


def test_a_delay_that_a_link_asks_for_is_sent() -> None:
    message = changed(came(data()), deliver_at=NOON + minutes(1))
    found = map_of(split(out(message)).annotations)
    assert found[Symbol("x-opt-delivery-time")] == NOON_MS + MINUTE_MS


def test_who_has_put_a_message_elsewhere_is_not_sent() -> None:
    message = NewMessage("orders", b"a", descriptor={"user_identifier": "mqm"})
    assert b"mqm" not in out(message)
    assert message.descriptor == {"user_identifier": "mqm"}


def test_a_text_stays_a_text() -> None:
    message = NewMessage("orders", "grün".encode(), "text/plain; charset=utf-8")

    received = got(out(message)).message

    assert split(out(message)).body == section(VALUE, "grün")
    assert (received.body, received.content_type) == (
        message.body,
        message.content_type,
    )


# In.


def test_a_message_is_known_by_its_headers() -> None:
    received = got(
        encode_header(durable=True, priority=9, delivery_count=2)
        + properties(message_id="ID:1", creation_time=Timestamp(NOON_MS), to="x")
        + application({"n": 1})
        + data(b"hello")
    )

    assert received.message_id == received.message.message_id == "ID:1"
    assert received.sent_at == NOON
    assert (received.redelivered, received.delivery_count) == (True, 3)
    assert received.destination == SOURCE
    assert received.message.address == "orders"
    assert received.message.priority == 9
    assert received.message.properties == {"n": 1}


@pytest.mark.parametrize(
    ("ttl_ms", "expiry_ms", "expected"),
    [
        (None, None, None),
        (MINUTE_MS, None, NOON + minutes(1)),
        (None, NOON_MS + 2 * MINUTE_MS, NOON + minutes(2)),
        (MINUTE_MS, NOON_MS + 2 * MINUTE_MS, NOON + minutes(2)),
        (MINUTE_MS, NOON_MS - MINUTE_MS, NOON - minutes(1)),
        (MINUTE_MS, 0, NOON + minutes(1)),
    ],
)
@pytest.mark.spec("BRIDGE-3")
def test_the_moment_of_expiry_counts_before_the_time_to_live(
    ttl_ms: int | None, expiry_ms: int | None, expected: Any
) -> None:
    expiry = None if expiry_ms is None else Timestamp(expiry_ms)
    payload = (
        encode_header(ttl_ms=ttl_ms) + properties(absolute_expiry_time=expiry) + data()
    )

    received = got(payload).message

    assert received.expires_at == expected
    again = out(received)
    wanted = (
        None if expected is None else NOON_MS + (expected - NOON) / minutes(1) * 6e4
    )
    assert said(again).absolute_expiry_time == wanted


def test_rabbitmq_counts_no_attempts_but_tells_of_another() -> None:
    first = got(encode_header(first_acquirer=True) + data(), counts=False)
    second = got(data(), counts=False)
    assert (first.redelivered, first.delivery_count) == (False, None)
    assert (second.redelivered, second.delivery_count) == (True, None)


@pytest.mark.parametrize(
    "payload",
    [b"", b"\0\x53\x75", annotated(x_opt_delivery_delay="soon") + data(), b"\xff" * 9],
)
def test_what_nobody_can_read_is_not_lost(
    payload: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    received = got(payload)
    assert received.message.body == payload
    assert received.message.envelope is None
    assert "cannot be decoded" in caplog.text
