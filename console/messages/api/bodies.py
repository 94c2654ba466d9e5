"""Messages as JSON, in requests and responses, without loss of any byte.

The encoding of a body is stated: text (UTF-8), Base64 (any bytes) or, for puts only,
JSON, which is stored in its shortest form.
"""

from __future__ import annotations

import base64
import binascii
import json
from datetime import datetime, timedelta
from typing import Any, Literal

from ninja.errors import ValidationError
from pydantic import AwareDatetime, Field, JsonValue

from broker.queueing.put import NewMessage
from broker.settlement.redelivery_policy import LONGEST_MS
from console.edges.rest.problems import NO_NUL
from console.edges.rest.requests import RequestBody

DEFAULT_TYPES = {
    "text": "text/plain; charset=utf-8",
    "base64": "application/octet-stream",
    "json": "application/json",
}
Word = Field(default=None, max_length=1024, pattern=NO_NUL)


class MessageToPut(RequestBody):
    """A message to put."""

    body: JsonValue = ""
    encoding: Literal["text", "base64", "json"] = "text"  # how the body is encoded
    content_type: str | None = Field(default=None, max_length=255, pattern=NO_NUL)
    properties: dict[str, JsonValue] = Field(default={}, max_length=1000)
    priority: int = Field(default=4, ge=0, le=9)  # 0 to 9; 9 is the highest
    durable: bool = True
    message_id: str | None = Word  # chosen by the client
    correlation_id: str | None = Word
    reply_to: str | None = Word
    subject: str | None = Word
    group_id: str | None = Word
    delay_ms: int | None = Field(default=None, ge=0, le=LONGEST_MS)
    # the time of delivery; not together with a delay
    deliver_at: AwareDatetime | None = None
    ttl_ms: int | None = Field(default=None, ge=1, le=LONGEST_MS)
    # the time of expiry; not together with a time to live
    expires_at: AwareDatetime | None = None


def new_message(
    one: MessageToPut, address: str, now: datetime, producer: str, where: list[Any]
) -> NewMessage:
    """The message as the broker stores it.

    Args:
        one: the message of the request.
        address: the target address.
        now: start of delays and times to live.
        producer: the sender's name.
        where: its position in the request, for error messages.

    Raises:
        ValidationError: the body does not fit its encoding, or times conflict.
    """
    if one.delay_ms is not None and one.deliver_at is not None:
        raise wrong([*where, "delay_ms"], "Give a delay or a time, not both.")
    if one.ttl_ms is not None and one.expires_at is not None:
        raise wrong([*where, "ttl_ms"], "Give a time to live or an end, not both.")
    return NewMessage(
        address,
        bytes_of(one, [*where, "body"]),
        content_type=one.content_type or DEFAULT_TYPES[one.encoding],
        properties=one.properties,
        priority=one.priority,
        durable=one.durable,
        deliver_at=after(now, one.delay_ms) or one.deliver_at,
        expires_at=after(now, one.ttl_ms) or one.expires_at,
        message_id=one.message_id,
        correlation_id=one.correlation_id,
        reply_to=one.reply_to,
        subject=one.subject,
        group_id=one.group_id,
        producer=producer,
    )


def after(now: datetime, milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else now + timedelta(milliseconds=milliseconds)


def bytes_of(one: MessageToPut, where: list[Any]) -> bytes:
    if one.encoding == "json":
        return json.dumps(one.body, ensure_ascii=False, separators=(",", ":")).encode()
    if not isinstance(one.body, str):
        raise wrong(where, "It must be a text, or its encoding “json”.")
    try:
        if one.encoding == "base64":
            return base64.b64decode(one.body, validate=True)
        return one.body.encode()
    except (binascii.Error, ValueError) as error:
        raise wrong(where, f"It is not written in {one.encoding}: {error}.") from None


def wrong(where: list[Any], what: str) -> ValidationError:
    return ValidationError([{"loc": ["body", *where], "msg": what}])
