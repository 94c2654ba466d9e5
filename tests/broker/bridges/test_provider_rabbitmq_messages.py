"""The mapping between a stored message and AMQP 0-9-1: tables, and drawn messages."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import amqp
import pytest
from amqp.serialization import decode_properties_basic
from hypothesis import given
from hypothesis import strategies as st

from broker.amqp.messages.bodies import ENCODED
from broker.amqp.messages.convert import to_put, to_send
from broker.amqp.protocol.sections import map_of, properties_of, split
from broker.amqp.protocol.types.encoding import encode
from broker.bridges.providers import rabbitmq_messages as mapping
from broker.bridges.providers.rabbitmq_frames import encoded
from broker.queueing.put import put_many
from broker.queueing.store import NewMessage
from broker.transactions.scope import UnitOfWork
from tests.make import NOON, make_queue, minutes, seconds

A_DAY_MS = 24 * 60 * 60 * 1000


def there_and_back(message: NewMessage, *, now: datetime = NOON) -> NewMessage:
    """Through the bytes that RabbitMQ would carry."""
    there = mapping.properties_of(message, message_id="ID:1", now=now)
    decoded, _ = decode_properties_basic(encoded(there), 0)
    return mapping.message_of(decoded, message.body, address=message.address, now=now)


OUTGOING: list[tuple[dict[str, Any], dict[str, Any]]] = [  # fields, properties
    ({"content_type": "text/plain"}, {"content_type": "text/plain"}),
    ({"durable": True}, {"delivery_mode": 2}),
    ({"durable": False}, {"delivery_mode": 1}),
    ({"priority": 9}, {"priority": 9}),
    ({"correlation_id": "c"}, {"correlation_id": "c"}),
    ({"reply_to": "answers"}, {"reply_to": "answers"}),
    ({"subject": "Order"}, {"type": "Order"}),
    ({"producer": "shop"}, {"app_id": "shop"}),
    ({"expires_at": NOON + seconds(1.5)}, {"expiration": "1500"}),
    ({"expires_at": NOON - seconds(1)}, {"expiration": "0"}),
    ({"message_id": "ID:old"}, {"message_id": "ID:1"}),
    ({"properties": {"content-encoding": "gzip"}}, {"content_encoding": "gzip"}),
    ({}, {"timestamp": int(NOON.timestamp()), "message_id": "ID:1"}),
]


@pytest.mark.spec("BRIDGE-8")
@pytest.mark.parametrize(("fields", "properties"), OUTGOING, ids=str)
def test_a_field_has_its_place_in_amqp(
    fields: dict[str, Any], properties: dict[str, Any]
) -> None:
    made = mapping.properties_of(
        NewMessage("orders", **fields), message_id="ID:1", now=NOON
    )

    assert made.items() >= properties.items()


LEFT_OUT = ["user_id", "cluster_id"]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_would_be_somebody_elses_word_is_left_out(name: str) -> None:
    message = NewMessage(
        "orders", descriptor={"user_identifier": "ada"}, headers=b"RFH"
    )

    made = mapping.properties_of(message, message_id="ID:1", now=NOON)

    assert name not in made
    assert "application_headers" not in made


INCOMING: list[tuple[dict[str, Any], dict[str, Any]]] = [  # properties, fields
    ({}, {"content_type": "application/octet-stream", "priority": 4}),
    ({}, {"durable": False, "expires_at": None, "message_id": None}),
    ({"delivery_mode": 2}, {"durable": True}),
    ({"priority": 200}, {"priority": 9}),
    ({"message_id": "m"}, {"message_id": "m"}),
    ({"type": "Order"}, {"subject": "Order"}),
    ({"app_id": "shop"}, {"producer": "shop"}),
    ({"content_encoding": "gzip"}, {"properties": {"content-encoding": "gzip"}}),
    ({"expiration": "1500"}, {"expires_at": NOON + seconds(1.5)}),
    (
        {"expiration": "1500", "timestamp": int(NOON.timestamp()) - 1},
        {"expires_at": NOON + seconds(0.5)},
    ),
    ({"expiration": "soon"}, {"expires_at": None}),
    ({"expiration": "9" * 30}, {"expires_at": None}),
    ({"application_headers": {"JMSXGroupID": "g"}}, {"group_id": "g"}),
    ({"application_headers": {"JMSXGroupID": 5}}, {"group_id": "5"}),
    ({"application_headers": {"x-delivery-count": 2}}, {"properties": {}}),
    ({"correlation_id": "a\0b"}, {"correlation_id": "a␀b"}),
    ({"user_id": "guest", "cluster_id": "c"}, {"properties": {}, "producer": ""}),
]


@pytest.mark.parametrize(("properties", "fields"), INCOMING, ids=str)
def test_a_property_has_its_place_here(
    properties: dict[str, Any], fields: dict[str, Any]
) -> None:
    made = mapping.message_of(properties, b"body", address="orders", now=NOON)

    assert {name: getattr(made, name) for name in fields} == fields
    assert made.body == b"body"


VALUES: list[tuple[Any, Any]] = [  # as a header is sent to us, and as it is kept
    (True, True),
    (0, 0),
    (-(2**31), -(2**31)),
    (2**31, 2**31),
    (-(2**63), -(2**63)),
    (2**63 - 1, 2**63 - 1),
    (1.5, 1.5),
    (float("inf"), "inf"),
    ("ä", "ä"),
    ("a\0b", "a␀b"),
    (b"\xff\x00", "ff00"),
    (None, None),
    (Decimal("1.25"), 1.25),
    (datetime(2026, 3, 14, 12), "2026-03-14T12:00:00+00:00"),  # noqa: DTZ001
    ({"a": {"b": [1, b"\xff"]}}, {"a": {"b": [1, "ff"]}}),
    ([], []),
]


@pytest.mark.parametrize(("sent", "kept"), VALUES, ids=repr)
def test_each_type_of_a_header_is_kept_as_json_has_it(sent: Any, kept: Any) -> None:
    raw = encoded({"application_headers": {"value": sent}})
    decoded, _ = decode_properties_basic(raw, 0)

    made = mapping.message_of(decoded, b"", address="orders", now=NOON)

    assert made.properties == {"value": kept}
    assert type(made.properties["value"]) is type(kept)


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        (2**63, str(2**63)),  # beyond 64 bits
        ({"n" * 300: 1}, '{"' + "n" * 300 + '": 1}'),  # no name of a table's
    ],
    ids=["a long number", "a long name"],
)
def test_what_a_table_cannot_hold_travels_as_text(value: Any, arrives: str) -> None:
    back = there_and_back(NewMessage("orders", properties={"value": value}))

    assert back.properties == {"value": arrives}


def test_an_expiry_too_far_for_rabbitmq_is_exact_all_the_same() -> None:
    far = NewMessage("orders", expires_at=NOON + timedelta(days=5000))

    made = mapping.properties_of(far, message_id="ID:1", now=NOON)

    assert "expiration" not in made
    assert there_and_back(far).expires_at == far.expires_at


TEXT = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300
)
NAME = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=55
)
SIMPLE = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
VALUE = st.recursive(
    SIMPLE,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = NAME | st.sampled_from(
    [*sorted(mapping.RESERVED), "x-backout-expires-at", "x-backout-property-CC", ""]
)
MESSAGES = st.builds(
    NewMessage,
    st.just("orders"),
    body=st.binary(max_size=50),
    content_type=TEXT.filter(lambda text: text != ENCODED),
    properties=st.dictionaries(NAMES, VALUE, max_size=4),
    priority=st.integers(0, 9),
    durable=st.booleans(),
    expires_at=st.none()
    | st.integers(0, 10**5 * A_DAY_MS).map(lambda ms: NOON + ms * minutes(1) / 60_000),
    correlation_id=st.none() | TEXT,
    reply_to=st.none() | TEXT,
    subject=st.none() | TEXT,
    group_id=st.none() | TEXT,
    producer=TEXT,
)


@given(message=MESSAGES)
def test_whatever_is_sent_comes_back_equal(message: NewMessage) -> None:
    back = there_and_back(message)

    back.message_id = None
    assert back == message


HEADERS = st.dictionaries(
    st.text(max_size=60) | NAMES,
    st.recursive(
        SIMPLE | st.binary(max_size=9) | st.floats() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=2),
        max_leaves=5,
    ),
    max_size=4,
)


@given(headers=HEADERS, raw=st.binary(max_size=60))
def test_whatever_others_send_is_something_that_can_be_stored(
    headers: dict[str, Any], raw: bytes
) -> None:
    properties, _ = decode_properties_basic(
        encoded({"application_headers": headers}), 0
    )
    message = mapping.message_of(properties, raw, address="orders", now=NOON)

    stored = repr(message.properties)
    assert "\0" not in stored
    assert stored.encode()  # no half of a character
    assert mapping.properties_of(message, message_id="ID:2", now=NOON)


BODIES = {
    "bytes": b"\x00\x53\x75" + encode(b"\x00\xff"),
    "text": b"\x00\x53\x77" + encode("Grüße"),
    "map": b"\x00\x53\x77" + encode({"n": 5, "s": "ä"}),
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_body_of_jms_is_the_same_for_its_clients_after_the_journey(
    db: None, kind: str
) -> None:
    section = BODIES[kind]
    properties = b"\x00\x53\x73" + encode(["ID:source", None, None, "Order"])
    application = b"\x00\x53\x74" + encode({"region": "north"})
    (sent,) = to_put(
        properties + application + section, address="orders", producer="", now=NOON
    )

    back = there_and_back(sent)
    make_queue("orders")
    put_many([back])
    work = UnitOfWork()
    (delivery,) = work.get("orders", 1)

    assert (back.body, back.content_type) == (sent.body, sent.content_type)
    arrived = split(to_send(delivery, now=NOON))
    work.accept(delivery)
    work.commit()
    assert arrived.body == section
    assert map_of(arrived.application_properties) == {"region": "north"}
    assert properties_of(arrived.properties).subject == "Order"
    assert properties_of(arrived.properties).message_id == "ID:1"


def test_what_only_says_that_it_is_encoded_is_bytes() -> None:
    message = NewMessage("orders", b"no section", ENCODED)

    back = there_and_back(message)

    assert back.envelope is None
    assert back.body == b"no section"


def test_properties_that_cannot_be_decoded_are_kept_as_digits() -> None:
    message = mapping.unreadable(b"\xff\x00", b"body", address="orders")

    assert message.properties == {"x-backout-unreadable": "ff00"}
    assert message.body == b"body"


def test_py_amqp_knows_no_property_that_we_do_not() -> None:
    assert {name for name, _ in amqp.Message.PROPERTIES} == {
        *(name for _, name in mapping.INCOMING),
        *(mapping.HEADERS, "content_encoding", "delivery_mode", "priority"),
        *("expiration", "timestamp", *LEFT_OUT),
    }
