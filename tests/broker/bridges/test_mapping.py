"""The table "What of a message survives" of the docs, cell by cell, without a server.

Each message goes through a provider's own form and back. What counts is what a client
gets in the end, with the exact types that AMQP has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from amqp.serialization import decode_properties_basic

from broker.amqp.messages import batches
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.sections import map_of, properties_of, split
from broker.amqp.protocol.types.types import Byte, Float, Int, Short, Symbol, Timestamp
from broker.bridges.messages import copied, message_of, rename
from broker.bridges.providers import rabbitmq_messages
from broker.bridges.providers.amqp.messages import inbound, outbound
from broker.bridges.providers.interface import Destination, Factory
from broker.bridges.providers.kombu import connect
from broker.bridges.providers.rabbitmq_frames import encoded
from broker.bridges.providers.stomp.dialects import ACTIVEMQ, RABBITMQ, Dialect
from broker.bridges.providers.stomp.messages import from_frame, to_frame
from broker.queueing.store import NewMessage
from tests.amqp.written import (
    VALUE,
    annotated,
    application,
    came,
    data,
    kept,
    properties,
    section,
    sent,
)
from tests.make import NOON, minutes

PAGE = Path(__file__).parents[3] / "docs" / "bridges.md"
HEADING = "### What of a message survives"
OLD_ID = "ID:as-it-was"
QUEUE = "/queue/"
HOUR = NOON + minutes(60)
TEXT = "text/plain; charset=utf-8"
VALUE_SECTION = bytes((0, 0x53, VALUE))


class Trip(NamedTuple):
    """A message in a provider's form, and as it came back."""

    form: Any
    back: NewMessage


def sent_on(message: NewMessage) -> NewMessage:
    """As a link sends it."""
    own = copied(message)
    rename(own, "ID:new")
    return own


def here(message: NewMessage) -> Trip:
    gone = sent_on(message_of(kept(message)))
    return Trip(gone, gone)


def over_backout(message: NewMessage) -> Trip:
    form = batches.sealed([message])
    return Trip(form, batches.unpacked(batches.opened(form).parts[0]))


def over_amqp(message: NewMessage) -> Trip:
    target = Destination("orders")
    form = outbound(message, target, address="orders", message_id="ID:new", now=NOON)
    delivery = Delivery(1, b"1", cast(Any, None), form)
    return Trip(form, inbound(delivery, target, NOON).message)


def over_stomp(message: NewMessage, dialect: Dialect) -> Trip:
    frame = to_frame(message, f"{QUEUE}orders", dialect, QUEUE, NOON)
    back = from_frame(*frame, address="orders", dialect=dialect, queue_prefix=QUEUE)
    return Trip(frame, back)


def over_rabbitmq(message: NewMessage) -> Trip:
    made = rabbitmq_messages.properties_of(message, message_id="ID:new", now=NOON)
    form, _ = decode_properties_basic(encoded(made), 0)
    back = rabbitmq_messages.message_of(form, message.body, address="orders", now=NOON)
    return Trip((form, message.body), back)


def over_kombu(message: NewMessage) -> Trip:
    """By its transport within a process, which takes whatever kombu writes."""
    orders = Destination("orders")
    session = connect(Factory("mapping", "kombu", "memory://"))
    try:
        source = session.subscribe(orders)
        assert session.send([message], orders) == [None]
        (received,) = source.receive(1, 5)
        source.acknowledge([received])
    finally:
        session.close()
    (came_as,) = [received.message]
    return Trip((came_as.properties, came_as.body), came_as)


PROVIDERS: Mapping[str, Callable[[NewMessage], Trip]] = {
    "this broker": here,
    "another Backout": over_backout,
    "AMQP 1.0": over_amqp,
    "STOMP, ActiveMQ": partial(over_stomp, dialect=ACTIVEMQ),
    "STOMP, RabbitMQ": partial(over_stomp, dialect=RABBITMQ),
    "RabbitMQ": over_rabbitmq,
    "kombu": over_kombu,
}


class Row(NamedTuple):
    """Messages that have something, and how it is read of what came back."""

    messages: list[NewMessage]
    read: Callable[[NewMessage], Any]


def field(name: str, *values: Any) -> Row:
    """A column; of each value a message that has it."""
    fields: list[dict[str, Any]] = [{name: value} for value in values]
    return Row([NewMessage("orders", b"x", **one) for one in fields], attrgetter(name))


def property_of(value: Any) -> Row:
    """A property that came by AMQP, with its exact type."""
    message = came(application({"p": value}) + data())
    return Row([message], read_property)


def read_property(message: NewMessage) -> Any:
    found = map_of(split(sent(message)).application_properties)
    value = found.get("p", found)
    return type(value), value


def body_of(message: NewMessage) -> Any:
    return message.body, message.content_type, split(sent(message)).body


def annotations_of(message: NewMessage) -> Any:
    sections = split(sent(message))
    return map_of(sections.annotations).get(Symbol("x-opt-mine"))


def time_of(message: NewMessage) -> Any:
    """When it was sent, as a client reads it of a message that was put later."""
    return properties_of(split(sent(message, put_at=HOUR)).properties).creation_time


ROWS: Mapping[str, Row] = {
    "text": Row([NewMessage("orders", "grün\n😀".encode(), TEXT)], body_of),
    "bytes": Row([NewMessage("orders", b"\0\xff\r\n")], body_of),
    "map": Row([came(section(VALUE, {"n": Int(5), "t": "1.0"}))], body_of),
    "content type": field("content_type", "application/json", "text/xml"),
    "JMSMessageID": field("message_id", OLD_ID),
    "JMSTimestamp": Row(
        [came(properties(creation_time=Timestamp(1)) + data())], time_of
    ),
    "JMSCorrelationID": field("correlation_id", "c-1", "ID:c"),
    "JMSReplyTo": field("reply_to", "answers"),
    "JMSExpiration": field("expires_at", HOUR),
    "JMSPriority": field("priority", *range(10)),
    "JMSDeliveryMode": field("durable", *(True, False)),
    "JMSType": field("subject", "order.v2"),
    "JMSXGroupID": field("group_id", "g1"),
    "property: boolean": property_of(True),  # noqa: FBT003
    "property: byte": property_of(Byte(5)),
    "property: short": property_of(Short(500)),
    "property: int": property_of(Int(5_000_000)),
    "property: long, of 32 bits": property_of(5),
    "property: long, above": property_of(2**40),
    "property: float": property_of(Float(1.5)),
    "property: double": property_of(1.25),
    "property: string": property_of("grün"),
    "property: null": property_of(None),
    "IBM MQ's descriptor": field("descriptor", {"msg_type": 8, "feedback": 300}),
    "IBM MQ's headers": field("headers", b"RFH \0\0\0\2" + bytes(28)),
    "AMQP's annotations": Row(
        [came(annotated(x_opt_mine="a") + data())], annotations_of
    ),
}
TYPES = {"int": Int, "long": int, "double": float, "text": str}


def cells() -> list[tuple[str, str, str]]:
    """The table of the page: of each cell its row, its column, and what it says."""
    table = PAGE.read_text().partition(HEADING)[2].partition("\n#")[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("|")
    ]
    head, _, *rows = lines
    return [
        (row[0], column, cell)
        for row in rows
        for column, cell in zip(head[1:], row[1:], strict=True)
    ]


def test_the_table_has_every_provider_and_every_part_of_a_message() -> None:
    found = cells()

    assert {column for _, column, _ in found} == set(PROVIDERS)
    assert [row for row, column, _ in found if column == "kombu"] == list(ROWS)


@pytest.mark.spec("BRIDGE-8")
@pytest.mark.parametrize(("row", "provider", "cell"), cells(), ids=str)
def test_a_message_becomes_what_the_table_says(
    row: str, provider: str, cell: str
) -> None:
    there, _, back = cell.rpartition(" → ")
    read = ROWS[row].read
    for message in ROWS[row].messages:
        trip = PROVIDERS[provider](
            sent_on(message) if provider != "this broker" else message
        )
        if there:
            assert is_there(trip.form, there)
        assert_is(back, before=read(message), after=read(trip.back))
    assert OLD_ID not in repr(trip.form)


def is_there(form: Any, word: str) -> bool:
    """Whether other clients there see a property, or a body, as the word says."""
    headers, body = form
    match word:
        case "text":
            return type(headers["p"]) is str
        case "none":
            return "p" not in headers
        case "XML":
            return bool(body.startswith(b"<map>"))
        case "bytes":
            return bool(body.startswith(VALUE_SECTION))
        case _:
            raise AssertionError(f"No such word: {word}")


def assert_is(word: str, *, before: Any, after: Any) -> None:
    """Hold what came back to the word of a cell."""
    match word:
        case "kept":
            assert after == before
        case "new":
            assert after != before
        case "none":
            assert before is not None
            assert after is None
        case _:
            _, value = before
            as_said = str(value) if word == "text" else value
            assert after == (TYPES[word], as_said)
