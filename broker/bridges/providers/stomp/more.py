"""What a message has and STOMP's headers cannot say, in one header more.

All of STOMP's headers are text. The header ``backout-more`` is JSON that keeps what is
lost by that, for when the message comes back to a broker like this one; others see a
header that they need not understand:

    properties    those that are no text, or that cannot be a header of their own
    fields        columns whose text cannot be one
    descriptor    IBM's MQMD
    headers       IBM's headers before the body, in Base64

A number or a boolean is a header of its own as well, in text. Who changes that header
on the way is believed, and not what stands here.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from broker.errors import BrokerError
from broker.formats.mq.descriptor import check_put
from broker.queueing.store import NewMessage

HEADER = "backout-more"
FIELDS = ("content_type", "correlation_id", "group_id", "reply_to", "subject")
# Who put a message first is not for its sender to say.
OF_OTHERS = frozenset(
    (
        *("user_identifier", "accounting_token", "appl_identity_data"),
        *("put_appl_type", "put_appl_name", "appl_origin_data"),
    )
)


def written(more: Mapping[str, Any]) -> str:
    """The value of the header.

    Raises:
        ValueError: a value is not of JSON.
    """
    return json.dumps(more, separators=(",", ":"), allow_nan=False)


def of_ibm(message: NewMessage) -> dict[str, Any]:
    """What a message has of IBM MQ."""
    found: dict[str, Any] = {}
    if message.descriptor:
        found["descriptor"] = dict(message.descriptor)
    if message.headers:
        found["headers"] = base64.b64encode(message.headers).decode()
    return found


def read(text: str) -> dict[str, Any] | None:
    """What a header says; None where no broker like this one wrote it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or "\\u0000" in text:
        return None
    properties = found.get("properties", {})
    fields = found.get("fields", {})
    if not isinstance(properties, dict) or not isinstance(fields, dict):
        return None
    if not all(name in FIELDS and isinstance(fields[name], str) for name in fields):
        return None
    return found


def take_ibm(message: NewMessage, more: Mapping[str, Any]) -> None:
    """Give a message what it had of IBM MQ, where that can be; but not its identity."""
    said = more.get("descriptor")
    if isinstance(said, dict):
        descriptor = {name: said[name] for name in said if name not in OF_OTHERS}
        try:
            check_put(descriptor, message.reply_to)
        except BrokerError:
            return
        message.descriptor = descriptor or None
    try:
        raw = base64.b64decode(more.get("headers") or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        return
    message.headers = raw or None
