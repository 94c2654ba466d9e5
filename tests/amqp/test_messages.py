"""What clients send leaves as it came, and what the broker has to know of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.amqp.messages.bodies import TEXT
from broker.amqp.messages.convert import BATCH, to_put, to_send
from broker.amqp.messages.identifiers import identifier_of, text_of
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.types.types import (
    Byte,
    Float,
    Int,
    Symbol,
    UByte,
    UInt,
    ULong,
)
from broker.models import Queue
from broker.queueing.get import Delivery
from broker.queueing.put import put_many
from broker.queueing.store import NewMessage
from broker.transactions.scope import UnitOfWork
from tests.amqp.messages_drawn import BARE, BEFORE
from tests.amqp.written import (
    HEADER,
    SEQUENCE,
    VALUE,
    annotated,
    application,
    came,
    data,
    header_of,
    properties,
    section,
    sent,
    without_header,
)
from tests.make import NOON, make_queue, minutes


@given(before=BEFORE, bare=BARE)
def test_all_but_the_header_leaves_as_it_came(before: bytes, bare: bytes) -> None:
    out = sent(came(before + bare))

    assert out.endswith(bare)
    assert without_header(out) == bare


@pytest.mark.django_db
@given(before=BEFORE, bare=BARE)
def test_whatever_a_message_holds_the_database_takes_it(
    before: bytes, bare: bytes
) -> None:
    message = came(before + bare)
    message.expires_at = message.deliver_at = None

    delivery = through_the_database(message)

    assert without_header(to_send(delivery, now=NOON)) == without_header(sent(message))
    assert delivery.body == message.body
    assert numbers(delivery.properties) == numbers(message.properties)
    assert delivery.client_message_id == message.message_id


def numbers(properties: Mapping[str, Any]) -> dict[str, Any]:
    """PostgreSQL writes a float that is whole without a point."""
    return {
        name: float(value) if type(value) in (int, float) else value
        for name, value in properties.items()
    }


def through_the_database(message: NewMessage) -> Delivery:
    if not Queue.objects.exists():
        make_queue("orders")
    put_many([message])
    work = UnitOfWork()
    (delivery,) = work.get("orders", 1)
    work.accept(delivery)
    work.commit()
    return delivery


def test_a_message_is_in_the_columns_too() -> None:
    message = came(
        section(HEADER, [True, UByte(7), UInt(60_000)])
        + properties(
            message_id="ID:1",
            subject="new",
            reply_to="amqp://broker:5672/answers",
            correlation_id="c",
            content_type=Symbol("application/json"),
            group_id="g",
        )
        + application({"tenant": "t7", "large": Int(3), "share": Float(0.5)})
        + data(b"{}")
    )

    assert (message.address, message.producer) == ("orders", "till 7")
    assert (message.durable, message.priority) == (True, 7)
    assert message.expires_at == NOON + minutes(1)
    assert (message.message_id, message.correlation_id) == ("ID:1", "c")
    assert (message.subject, message.reply_to) == ("new", "answers")
    assert (message.group_id, message.content_type) == ("g", "application/json")
    assert message.properties == {"tenant": "t7", "large": 3, "share": 0.5}
    assert message.body == b"{}"


def test_without_a_header_a_message_is_not_durable_and_of_priority_4() -> None:
    message = came(data())

    assert (message.durable, message.priority, message.expires_at) == (False, 4, None)


@pytest.mark.parametrize("given", [10, 255])
def test_a_priority_above_9_is_9(given: int) -> None:
    assert came(section(HEADER, [None, UByte(given)]) + data()).priority == 9


def test_a_time_to_live_of_0_is_none() -> None:
    message = came(section(HEADER, [None, None, UInt(0)]) + data())

    assert message.expires_at is None


@pytest.mark.parametrize(
    ("sent_id", "text"),
    [
        ("order-7", "order-7"),
        (ULong(7), "ID:AMQP_ULONG:7"),
        (UUID(int=7), "ID:AMQP_UUID:00000000-0000-0000-0000-000000000007"),
        (b"\x0a\xff", "ID:AMQP_BINARY:0AFF"),
        ("ID:AMQP_ULONG:7", "ID:AMQP_STRING:ID:AMQP_ULONG:7"),
        ("with\0null", None),
    ],
)
def test_ids_of_other_types_have_a_text_as_in_jms(sent_id: Any, text: str) -> None:
    message = came(properties(message_id=sent_id, correlation_id=sent_id) + data())

    assert message.message_id == message.correlation_id == text


@given(st.one_of(st.text(), st.uuids(), st.binary(), st.integers(0, 2**64 - 1)))
def test_an_id_is_found_again_in_its_text(sent_id: Any) -> None:
    text = text_of(sent_id)

    assert (text is None) == (isinstance(sent_id, str) and "\0" in sent_id)
    assert text is None or identifier_of(text) == sent_id


@pytest.mark.parametrize(
    "text",
    [
        "ID:AMQP_ULONG:-1",
        f"ID:AMQP_ULONG:{2**64}",
        "ID:AMQP_UUID:7",
        "ID:AMQP_BINARY:0",
        "ID:AMQP_NOTHING:7",
    ],
)
def test_what_only_looks_like_an_id_of_another_type_is_a_string(text: str) -> None:
    assert identifier_of(text) == text


def test_what_json_cannot_hold_is_text_in_the_column_alone() -> None:
    payload = application(
        {"n": "\0", "nan": float("nan"), "bytes": b"b", "many": ULong(2**64 - 1)}
    )

    message = came(payload + data())

    assert message.properties == {
        "n": "␀",
        "nan": "nan",
        "bytes": "62",
        "many": 2**64 - 1,
    }
    assert payload in sent(message)


@pytest.mark.parametrize(
    ("body", "content", "content_type"),
    [
        (data(b"x" * 300), b"x" * 300, "application/octet-stream"),
        (section(VALUE, "grüße"), "grüße".encode(), "text/plain; charset=utf-8"),
        (section(VALUE, ""), b"", "text/plain; charset=utf-8"),
    ],
)
def test_data_is_its_bytes_and_a_text_is_utf_8(
    body: bytes, content: bytes, content_type: str
) -> None:
    message = came(body)

    assert (message.body, message.content_type) == (content, content_type)
    assert without_header(sent(message)) == body


@pytest.mark.parametrize(
    "body",
    [
        section(VALUE, {"a": [1, None]}),
        section(VALUE, None),
        data(b"one") + data(b"two"),
        section(SEQUENCE, [1, 2]),
    ],
)
def test_any_other_body_is_kept_encoded(body: bytes) -> None:
    message = came(properties(content_type=Symbol("text/plain")) + body)

    assert message.body == body
    assert message.content_type == "application/vnd.oasis.amqp"


def test_a_text_is_utf_8_whatever_its_sender_calls_it() -> None:
    utf_16 = properties(content_type=Symbol("text/plain; charset=utf-16"))
    json_ = properties(content_type=Symbol("application/json; charset=UTF-8"))

    assert came(utf_16 + section(VALUE, "a")).content_type == TEXT
    assert came(json_ + section(VALUE, "a")).content_type.startswith("application/json")


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\0",
        properties(subject=7) + data(),
        properties(message_id=Int(7)) + data(),
        b"\0\x53\x72\xc1\x05\x02\xff\xff\xff\xff" + data(),
        b"\0\x53\x74\xc1\x05\x02\xff\xff\xff\xff" + data(),
        data() + b"\0\x53\x78\xc1\x05\x02\xff\xff\xff\xff",
        b"\0\x53\x77\xa1\x02\xff\xfe",
        b"\0\x53\x77\xc0\x05\x02\xff\xff\xff\xff",
        data() + properties(),
    ],
)
def test_what_no_consumer_could_read_is_refused(payload: bytes) -> None:
    with pytest.raises(AmqpError) as refused:
        came(payload)
    assert refused.value.condition == "amqp:decode-error"


@given(st.binary(max_size=200), st.sampled_from([0, BATCH, 7]))
def test_no_bytes_raise_anything_else(payload: bytes, message_format: int) -> None:
    with suppress(AmqpError):
        came(payload, message_format=message_format)


@given(BARE, st.data())
def test_nor_do_messages_with_a_wrong_byte(bare: bytes, drawing: st.DataObject) -> None:
    place = drawing.draw(st.integers(0, len(bare) - 1))
    byte = drawing.draw(st.integers(0, 255))
    broken = bare[:place] + bytes((byte,)) + bare[place + 1 :]

    with suppress(AmqpError):
        assert without_header(sent(came(broken))) is not None


def test_backouts_are_the_delivery_count_of_the_header() -> None:
    message = came(section(HEADER, [True, None, None, None, UInt(9)]) + data())

    assert header_of(sent(message)).delivery_count == 0
    assert header_of(sent(message, backout_count=3)).delivery_count == 3
    assert sent(message, backout_count=3).endswith(data())


def test_what_jms_needs_to_know_survives() -> None:
    jms = annotated(
        x_opt_jms_msg_type=Byte(5), x_opt_jms_dest=Byte(1), x_opt_jms_reply_to=Byte(2)
    )

    assert jms in sent(came(jms + section(VALUE, "text")))


def test_nobody_sends_in_the_name_of_another() -> None:
    theirs = properties(user_id=b"vera") + data()

    mine = came(theirs, user="vera")
    passed = came(theirs, user="omar", may_set_identity=True)
    assert [without_header(sent(one)) for one in (mine, passed)] == [theirs, theirs]
    came(properties(user_id=b"") + data(), user="omar")
    for user, producer in (("omar", "vera"), ("", "vera")):
        with pytest.raises(AmqpError) as refused:
            came(theirs, user=user, producer=producer)
        assert refused.value.condition == "amqp:unauthorized-access"


def test_a_batch_is_several_messages() -> None:
    one = section(HEADER, [True]) + properties(message_id="1") + data(b"one")
    two = properties(message_id="2") + section(VALUE, "two")
    payload = annotated(x_opt_partition_key="p") + data(one) + data(two)

    messages = to_put(
        payload, address="orders", producer="shop", now=NOON, message_format=BATCH
    )

    assert [message.message_id for message in messages] == ["1", "2"]
    assert [message.body for message in messages] == [b"one", b"two"]
    assert without_header(sent(messages[1])) == two


@pytest.mark.parametrize(
    ("payload", "condition"),
    [
        (section(VALUE, "none"), "amqp:decode-error"),
        (data(b"no message"), "amqp:decode-error"),
        (data(data()) * 5001, "amqp:resource-limit-exceeded"),
    ],
)
def test_a_batch_is_of_messages_and_not_too_long(
    payload: bytes, condition: str
) -> None:
    with pytest.raises(AmqpError) as refused:
        came(payload, message_format=BATCH)
    assert refused.value.condition == condition


def test_a_message_of_an_unknown_format_is_refused() -> None:
    with pytest.raises(AmqpError) as refused:
        came(data(), message_format=1)
    assert refused.value.condition == "amqp:not-implemented"
