"""Messages of every kind, as a link may have to carry them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from broker.amqp.messages.bodies import ENCODED, VALUE
from broker.amqp.protocol.types.decoding import decode
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Byte, Char, Float, Int, Short, UInt
from broker.queueing.store import NewMessage

IN_AN_HOUR = datetime.now(UTC).replace(microsecond=123_000) + timedelta(hours=1)
PROPERTIES: Mapping[str, Any] = {
    "text": "größer: 1\n2\\n \U0001f600 ",
    "empty": "",
    "number": 5,
    "long": 2**60,
    "ratio": 0.1,
    "yes": True,
    "nothing": None,
    "with space": " x ",
    "with:colon": "x",
    "priority": "mine",
    "cr": "a\rb",
}
MAP: Mapping[str, Any] = {
    "text": "1.0",
    "marked": "<&>\x01\r\n\t\ufffe",
    "flag": False,
    "gone": None,
    "byte": Byte(-3),
    "short": Short(300),
    "int": Int(-1),
    "long": 2**60,
    "float": Float(0.1),
    "double": 1e300,
    "char": Char("ß"),
    "nul": Char("\0"),
    "list": [Int(1), "a"],
    "inner": {"a": 2.5},
}
ENCODED_MAP = VALUE + encode(dict(MAP))
NO_JMS_MAP = VALUE + encode({"of no sign": UInt(1), "bytes": b"\x00"})


def kinds(count: int) -> list[NewMessage]:
    """Messages of every kind in turn; the number stands in their group."""
    contents = (
        ("text/plain; charset=utf-8", "Grüße \0 \U0001f600".encode()),
        ("application/json", b'{"a": 1}'),
        ("application/octet-stream", bytes(range(256))),
        ("application/octet-stream", b""),
        (ENCODED, ENCODED_MAP),
        (ENCODED, NO_JMS_MAP),
        ("text/plain; charset=latin-1", b"\xe4"),
    )
    return [
        NewMessage(
            "orders",
            contents[number % len(contents)][1],
            contents[number % len(contents)][0],
            PROPERTIES if number % 2 else {"number": number},
            priority=number % 10,
            expires_at=IN_AN_HOUR if number % 4 else None,
            correlation_id=f"c{number}" if number % 5 else None,
            reply_to=("answers", "/topic/answers", None)[number % 3],
            subject="kind" if number % 2 else None,
            group_id=str(number),
        )
        for number in range(count)
    ]


def plain(message: NewMessage) -> NewMessage:
    """A message without the order in which a map stands, and which nobody keeps."""
    if message.content_type != ENCODED:
        return message
    section, _ = decode(message.body)
    return replace(message, body=repr(sorted(section.value.items())).encode())
