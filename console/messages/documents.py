"""Messages as JSON, for the API and the command line."""

from __future__ import annotations

import base64
from typing import Any, Literal

from broker.models import Place
from broker.monitoring.numbers import public_numbers
from broker.queueing.browse import Browsed
from broker.queueing.get import Delivery
from broker.security.redaction import CLEAR, Veil

FIELDS = (
    *("content_type", "properties", "client_message_id", "correlation_id"),
    *("reply_to", "subject", "group_id", "producer", "durable"),
)

# Of an entry in a list; the rest says where it is.
BROWSED = (
    *("message_id", "priority", "backout_count", "until", "expires_at", "put_at"),
    *("content_type", "subject", "producer", "size_bytes"),
)

PLACES = {
    "ready": Place.READY,
    "in-flight": Place.CLAIMED,
    "delayed": Place.DELAYED,
}


def numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with a ``message_id``, and the number of each message. One query."""
    numbers = public_numbers(row["message_id"] for row in rows)
    return [row | {"number": numbers[row["message_id"]]} for row in rows]


def written(body: bytes) -> tuple[str, Literal["text", "base64"]]:
    """A body as text if it is UTF-8, otherwise in Base64; and the encoding used."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), "base64"
    if "\0" in text:
        return base64.b64encode(body).decode(), "base64"
    return text, "text"


def told(one: Delivery, veil: Veil = CLEAR) -> dict[str, Any]:
    """A message as JSON, with its masked parts removed."""
    seen = veil.body(one.body, one.content_type)
    properties, hidden = veil.properties(one.properties)
    body, encoding = written(seen.body)
    plain = (*FIELDS, "message_id", "address", "priority", "put_at", "expires_at")
    return {
        **{name: getattr(one, name) for name in plain},
        "properties": properties,
        "body": body,
        "encoding": encoding,
        "backout_count": one.backout_count,
        "descriptor": one.descriptor,
        "masked_by": list(dict.fromkeys([*seen.by, *hidden])),
        "is_withheld": seen.is_withheld,
        "headers_base64": None
        if one.headers is None or veil
        else base64.b64encode(one.headers).decode(),
    }


def brief(one: Browsed) -> dict[str, Any]:
    """An entry as JSON, without the number of its message."""
    return {name: getattr(one, name) for name in BROWSED}
