"""Messages as STOMP carries them, without a server."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stomp.protocol import Protocol12
from stomp.utils import Frame, convert_frame, pack, parse_frame

from broker.bridges.providers.stomp.dialects import (
    ACTIVEMQ,
    ARTEMIS,
    OTHER,
    RABBITMQ,
    Dialect,
    dialect_of,
)
from broker.bridges.providers.stomp.messages import (
    TAKEN,
    Cannot,
    from_frame,
    to_frame,
)
from broker.queueing.store import NewMessage
from tests.make import NOON

QUEUE = "/queue/"
DIALECTS = (ACTIVEMQ, ARTEMIS, RABBITMQ)
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63), TEXTS, st.floats(width=64)
)
VALUES = st.one_of(
    SCALARS.filter(lambda value: value == value and abs_of(value) < float("inf")),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(TEXTS, st.booleans(), max_size=2),
)
BODIES = st.one_of(
    st.tuples(st.just("application/octet-stream"), st.binary(max_size=40)),
    st.tuples(st.just("text/plain; charset=latin-1"), st.binary(max_size=40)),
    st.tuples(
        st.sampled_from(["text/plain; charset=utf-8", "application/json", "text/xml"]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=40).map(str.encode),
    ),
)


def abs_of(value: Any) -> float:
    return abs(value) if isinstance(value, float) else 0.0


@st.composite
def messages(draw: st.DrawFn) -> NewMessage:
    content_type, body = draw(BODIES)
    milliseconds = draw(st.none() | st.integers(1, 2**41))
    return NewMessage(
        "orders",
        body,
        content_type,
        draw(
            st.dictionaries(TEXTS | st.sampled_from(sorted(TAKEN)), VALUES, max_size=4)
        ),
        priority=draw(st.integers(0, 9)),
        durable=draw(st.booleans()),
        expires_at=(
            None
            if milliseconds is None
            else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
        ),
        correlation_id=draw(st.none() | TEXTS),
        reply_to=draw(st.none() | TEXTS),
        subject=draw(st.none() | TEXTS),
        group_id=draw(st.none() | TEXTS),
        descriptor=draw(st.sampled_from([None, {"msg_type": 8, "feedback": 300}])),
        headers=draw(st.none() | st.binary(min_size=1, max_size=20)),
    )


def carried(message: NewMessage, dialect: Dialect = OTHER) -> NewMessage:
    """A message after it went out and came in, over the wire."""
    sent = to_frame(message, QUEUE + "orders", dialect, QUEUE, NOON)
    headers = dict(sent.headers)
    Protocol12._escape_headers(None, headers)
    wire = pack(convert_frame(Frame("SEND", headers, sent.body)))
    came = parse_frame(wire[:-1])
    return from_frame(
        came.headers,
        came.body,
        address="orders",
        dialect=dialect,
        queue_prefix=QUEUE,
    )


@pytest.mark.spec("BRIDGE-8")
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
@settings(max_examples=60)
@given(message=messages())
def test_what_goes_out_comes_in_the_same(dialect: Dialect, message: NewMessage) -> None:
    came = carried(message, dialect)

    expected = message if dialect.expires else replace(message, expires_at=None)
    assert came == expected
    assert json.dumps(came.properties, sort_keys=True) == json.dumps(
        dict(message.properties), sort_keys=True
    )


@settings(max_examples=60)
@given(message=messages())
def test_no_header_has_what_activemq_would_change(message: NewMessage) -> None:
    frame = to_frame(message, QUEUE + "orders", ACTIVEMQ, QUEUE, NOON)

    assert all(name.isprintable() and ":" not in name for name in frame.headers)
    assert not any({"\r", "\0"}.intersection(value) for value in frame.headers.values())
    assert "content-length" in frame.headers or b"\0" not in frame.body


@pytest.mark.parametrize(
    ("value", "text"),
    [(5, "5"), (True, "true"), (1.5, "1.5"), ("five", "five"), (2**60, str(2**60))],
)
def test_a_number_is_text_for_others_and_a_number_for_us(value: Any, text: str) -> None:
    message = NewMessage("orders", properties={"count": value})

    assert to_frame(message, "/queue/a", OTHER, QUEUE, NOON).headers["count"] == text
    assert carried(message).properties == {"count": value}


def test_who_changes_a_property_on_the_way_is_believed() -> None:
    frame = to_frame(
        NewMessage("orders", properties={"count": 5}), "/queue/a", OTHER, QUEUE, NOON
    )
    headers = {**frame.headers, "count": "6"}

    came = from_frame(headers, b"", address="a", dialect=OTHER, queue_prefix=QUEUE)

    assert came.properties == {"count": "6"}


def test_what_others_wrote_in_our_header_is_a_property_of_theirs() -> None:
    for said in ("", "no JSON", "[]", '{"fields":{"body":"x"}}', '{"properties":[1]}'):
        headers = {"backout-more": said}

        came = from_frame(headers, b"", address="a", dialect=OTHER, queue_prefix=QUEUE)

        assert came.properties == headers


def test_nobody_else_says_who_put_a_message() -> None:
    described = {"user_identifier": "root", "feedback": 1, "appl_identity_data": "x"}

    came = carried(NewMessage("orders", descriptor=described))

    assert came.descriptor == {"feedback": 1}


def test_text_has_no_length_and_bytes_have_one() -> None:
    text = NewMessage("orders", "größer".encode(), "text/plain; charset=utf-8")
    other = replace(text, content_type="text/plain; charset=utf-16")

    def headers(message: NewMessage) -> dict[str, str]:
        return to_frame(message, "/queue/a", ACTIVEMQ, QUEUE, NOON).headers

    assert "content-length" not in headers(text)
    assert headers(other)["content-length"] == "8"
    assert headers(NewMessage("orders"))["content-length"] == "0"


def test_for_java_a_character_beyond_the_first_plane_is_two() -> None:
    text = NewMessage("orders", "a\0\U0001f600".encode(), "text/plain; charset=utf-8")

    frame = to_frame(text, "/queue/a", ACTIVEMQ, QUEUE, NOON)

    # as Java's DataOutput.writeUTF writes it
    assert frame.body == b"a\xc0\x80\xed\xa0\xbd\xed\xb8\x80"
    assert carried(text, ACTIVEMQ).body == text.body


@pytest.mark.spec("BRIDGE-8")
def test_rabbitmq_is_told_the_rest_of_the_time_to_live() -> None:
    def told(expires_at: datetime) -> dict[str, str]:
        message = NewMessage("orders", expires_at=expires_at)
        return to_frame(message, "/queue/a", RABBITMQ, QUEUE, NOON).headers

    assert told(NOON + timedelta(seconds=3))["expiration"] == "3000"
    assert told(NOON - timedelta(seconds=3))["expiration"] == "1"
    assert "expires" not in told(NOON)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("long", "x" * 10_240, "'long' takes 10,245 bytes"),
        ("colons", ":" * 5_120, "'colons' takes 10,247 bytes"),
        ("numbers", list(range(5000)), "fields that STOMP has no header for"),
        ("infinite", float("inf"), "a value that JSON cannot represent"),
    ],
)
def test_what_no_header_can_carry_is_refused(name: str, value: Any, why: str) -> None:
    message = NewMessage("orders", properties={name: value})

    with pytest.raises(Cannot, match=why):
        to_frame(message, "/queue/a", ACTIVEMQ, QUEUE, NOON)


def test_more_headers_than_the_server_takes_are_refused() -> None:
    message = NewMessage("orders", properties={f"n{n}": "x" for n in range(1000)})

    with pytest.raises(Cannot, match="accepts at most 990"):
        to_frame(message, "/queue/a", ACTIVEMQ, QUEUE, NOON)


@pytest.mark.parametrize(
    ("headers", "field", "value"),
    [
        ({"priority": "12"}, "priority", 9),
        ({"priority": "high"}, "priority", 4),
        ({"expires": "0"}, "expires_at", None),
        ({"expires": "99999999999999999999"}, "expires_at", None),
        ({"persistent": "true"}, "durable", True),
        ({}, "durable", False),
        ({"reply-to": "/queue/answers"}, "reply_to", "answers"),
        ({"reply-to": "/topic/answers"}, "reply_to", "/topic/answers"),
        ({"reply-to": "/queue//odd"}, "reply_to", "/queue//odd"),
        ({"k": "a\0b"}, "properties", {"k": "a\N{REPLACEMENT CHARACTER}b"}),
        ({"content-length": "0"}, "content_type", "application/octet-stream"),
        ({"transformation": "jms-object-xml"}, "content_type", "application/xml"),
        ({"transformation": "jms-xml"}, "content_type", "text/plain; charset=utf-8"),
        ({}, "content_type", "text/plain; charset=utf-8"),
        ({"user-id": "ann"}, "properties", {"user-id": "ann"}),
        ({"receipt": "7", "transaction": "t"}, "properties", {}),  # of RabbitMQ
    ],
)
def test_whatever_a_server_says_is_a_message(
    headers: dict[str, str], field: str, value: Any
) -> None:
    came = from_frame(headers, b"", address="a", dialect=OTHER, queue_prefix=QUEUE)

    assert getattr(came, field) == value


@pytest.mark.parametrize(
    ("server", "dialect"),
    [
        ("ActiveMQ/5.17.2", ACTIVEMQ),
        ("ActiveMQ-Artemis/2.31.0 ActiveMQ Artemis Messaging Engine", ARTEMIS),
        ("RabbitMQ/3.10.8", RABBITMQ),
        ("", OTHER),
    ],
)
def test_servers_are_known_by_what_they_call_themselves(
    server: str, dialect: Dialect
) -> None:
    assert dialect_of(server) is dialect
