"""Export and import of messages: one JSON document in each line, without loss.

A line has everything that a put accepts: every header, property and byte. A body is
text if it is UTF-8, else Base64. IBM MQ headers and the AMQP envelope are Base64, too.
The key ``seen`` has facts about the message at the time of the export, such as its id,
and the text of a body in another character set; an import ignores it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import fields
from datetime import datetime
from typing import Any

from broker.errors import InvalidMessage
from broker.formats import moments
from broker.formats.mq.coding import coding_in
from broker.formats.text import text_of
from broker.models import Message, RoutingType
from broker.queueing.store import NewMessage
from broker.security.redaction import CLEAR, Veil

FORMAT = "backout-message/1"
BYTES = ("headers", "envelope")  # fields that are written in Base64, if they are set
DATES = ("expires_at", "deliver_at")
DEFAULTS: Mapping[str, Any] = {
    "routing_type": None,
    "durable": True,
    "priority": 4,
    "producer": "",
    "properties": {},
    **dict.fromkeys((*BYTES, *DATES, "descriptor", "group_id", "subject")),
    **dict.fromkeys(("message_id", "correlation_id", "reply_to")),
}
NAMES = {one.name for one in fields(NewMessage)} - {"body"}
KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("address", "content_type", "producer"), (str,)),
    **dict.fromkeys(
        ("message_id", "correlation_id", "reply_to", "subject", "group_id"),
        (str, type(None)),
    ),
    "durable": (bool,),
    "priority": (int,),
    "properties": (dict,),
    "descriptor": (dict, type(None)),
    "routing_type": (int, type(None)),
    **dict.fromkeys(DATES, (str, type(None))),
    **dict.fromkeys(BYTES, (str, type(None))),
}


def line(row: Message, seen: Mapping[str, Any], veil: Veil = CLEAR) -> str:
    """One message as a line, without the line end.

    Args:
        row: the message.
        seen: further facts for people, in the key ``seen``.
        veil: the rules that mask the message. A masked line has the key ``masked_by``,
            and cannot be imported.
    """
    said: dict[str, Any] = {"format": FORMAT, "address": row.address}
    said["content_type"] = row.content_type
    body, coding = bytes(row.body), coding_in(row)
    if veil:
        body, row = behind(veil, row)
        said["masked_by"] = list(veil.names)
    for name, default in DEFAULTS.items():
        value = getattr(row, name, None)
        if name in BYTES and value is not None:
            value = base64.b64encode(bytes(value)).decode()
        if isinstance(value, datetime):
            value = value.isoformat()
        if value != default:
            said[name] = value
    said |= written(body)
    seen = {"id": row.pk, "put_at": row.put_at.isoformat(), **seen}
    if "base64" in said:
        with suppress(ValueError):
            seen["text"] = text_of(body, row.content_type, coding).text
    return json.dumps({**said, "seen": seen}, ensure_ascii=False)


def behind(veil: Veil, row: Message) -> tuple[bytes, Message]:
    """A message as the user may see it: the body, and the other fields without headers
    and envelope."""
    seen = copy(row)
    seen.properties, _ = veil.properties(row.properties)
    seen.headers = seen.envelope = None
    coding = coding_in(row)
    return veil.body(bytes(row.body), row.content_type, coding).body, seen


def written(body: bytes) -> dict[str, str]:
    """A body under the key that says how it is written: text or base64."""
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def read(text: str | bytes, *, where: str) -> NewMessage:
    """The message of a line.

    Args:
        text: the line.
        where: the place of the line, for the error text.

    Raises:
        InvalidMessage: the line is not a message.
    """
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidMessage(f"{where}: This is no JSON.") from None
    if not isinstance(said, dict) or said.pop("format", None) != FORMAT:
        raise InvalidMessage(f'{where}: It must be an object with "format": "{FORMAT}"')
    said.pop("seen", None)
    if said.get("masked_by"):
        raise InvalidMessage(f"{where}: Something of it is masked, so it is not whole")
    try:
        body = body_of(said)
        return NewMessage(body=body, **values_of(said))
    except (ValueError, binascii.Error) as error:
        raise InvalidMessage(f"{where}: {error}") from None


def body_of(said: dict[str, Any]) -> bytes:
    """The body of a message that was read; its key is removed from ``said``."""
    ways = [(name, said.pop(name)) for name in ("text", "base64") if name in said]
    if len(ways) != 1 or not isinstance(ways[0][1], str):
        raise ValueError('It must have a "text" or a "base64", which is a text.')
    ((name, value),) = ways
    return value.encode() if name == "text" else base64.b64decode(value, validate=True)


def values_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message without its bytes, each converted from JSON to its
    type."""
    if "address" not in said:
        raise ValueError('It has no "address".')
    values = {name: value_of(name, value) for name, value in said.items()}
    if not 0 <= values.get("priority", 4) <= 9:
        raise ValueError("priority is from 0 to 9.")
    return values


def value_of(name: str, value: Any) -> Any:
    if name not in NAMES:
        raise ValueError(f"There is no field {name!r}.")
    if type(value) not in KINDS[name]:
        raise ValueError(f"{name} has a value of another kind.")
    if value is None:
        return None
    if name in BYTES:
        return base64.b64decode(value, validate=True)
    if name in DATES:
        return moments.parse(value)
    return RoutingType(value) if name == "routing_type" else value
