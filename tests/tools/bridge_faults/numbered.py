"""The messages that links carry here: mixed, numbered, and told apart when they arrive.

What must be the same at the other end, the table of docs/bridges.md says.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from broker.amqp.protocol.sections import map_of, split
from broker.amqp.protocol.types.types import Byte, Float, Int, Short
from broker.bridges.messages import changed
from broker.queueing.store import NewMessage
from tests.amqp.written import VALUE, application, came, data, section, sent
from tests.broker.bridges.test_mapping import ROWS, assert_is, cells

HOUR = timedelta(hours=1)
PREFIX = "c-"  # of a correlation id, which every provider keeps
BODIES = {
    "text": section(VALUE, "grün\n😀"),
    "bytes": data(bytes(range(256))),
    "map": section(VALUE, {"n": Int(5), "t": "1.0"}),
}
VALUES = {
    "boolean": True,
    "byte": Byte(5),
    "short": Short(500),
    "int": Int(5_000_000),
    "long, of 32 bits": 5,
    "long, above": 2**40,
    "float": Float(1.5),
    "double": 1.25,
    "string": "grün",
    "null": None,
}
KINDS, TYPES = list(BODIES), list(VALUES)
FIELDS = (
    *("JMSMessageID", "JMSCorrelationID", "JMSReplyTo", "JMSExpiration"),
    *("JMSPriority", "JMSDeliveryMode", "JMSType", "JMSXGroupID"),
)


def numbered(
    number: int, address: str, now: datetime, *, durable: bool = True
) -> NewMessage:
    """One message; every kind of body meets every type of a property, and so on.

    Args:
        now: the time to live counts from here.
        durable: or not, by its number.
    """
    body, value = BODIES[kind_of(number)], VALUES[type_of(number)]
    return changed(
        came(application({"p": value}) + body, address=address),
        priority=number % 10,
        durable=durable or number % 4 != 0,
        expires_at=now + HOUR if number % 2 else None,
        message_id=f"ID:{number}",
        correlation_id=f"{PREFIX}{number}",
        reply_to="answers" if number % 5 < 3 else None,
        subject="order.v2" if number % 7 < 4 else None,
        group_id=f"g{number % 3}" if number % 11 < 5 else None,
    )


def kind_of(number: int) -> str:
    return KINDS[number % len(KINDS)]


def type_of(number: int) -> str:
    return TYPES[number // len(KINDS) % len(TYPES)]


def number_of(message: NewMessage) -> int:
    return int((message.correlation_id or "").removeprefix(PREFIX))


def unlike(
    before: NewMessage, after: NewMessage, words: dict[str, str]
) -> Iterator[str]:
    """What of a message is not as the table says.

    Args:
        words: of each row of the table, what it says of the provider.
    """
    number = number_of(before)
    for row in (*FIELDS, kind_of(number), f"property: {type_of(number)}"):
        read = entries_of if row == "map" else ROWS[row].read
        was, found = read(before), read(after)
        if was is None and found is None:
            continue
        try:
            assert_is(words[row].rpartition(" → ")[2], before=was, after=found)
        except AssertionError:
            yield f"{row} of message {number}: {was!r} came as {found!r}"


def entries_of(message: NewMessage) -> dict[str, Any]:
    """A map; its entries have no order."""
    return map_of(split(sent(message)).body)


def words_of(provider: str) -> dict[str, str]:
    """A column of the table."""
    return {row: cell for row, column, cell in cells() if column == provider}
