"""The header ``backout-more``: values that other STOMP headers cannot carry.

All STOMP headers are text. This header is JSON and keeps what would be lost, for a
broker like this one; other receivers can ignore it:

    properties    those that are no text, or that cannot be a header of their own
    fields        columns whose text cannot be one
    descriptor    IBM's MQMD
    headers       IBM's headers before the body, in Base64

A number or a boolean is also a header of its own, as text. If that header was changed
on the way, it counts, and the value here is ignored.
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
# Identity and origin fields, which a sender must not set.
OF_OTHERS = frozenset(
    (
        *("user_identifier", "accounting_token", "appl_identity_data"),
        *("put_appl_type", "put_appl_name", "appl_origin_data"),
    )
)


def written(more: Mapping[str, Any]) -> str:
    """Encode the header's value.

    Raises:
        ValueError: a value cannot be JSON.
    """
    return json.dumps(more, separators=(",", ":"), allow_nan=False)


def of_ibm(message: NewMessage) -> dict[str, Any]:
    """The IBM MQ fields of a message."""
    found: dict[str, Any] = {}
    if message.descriptor:
        found["descriptor"] = dict(message.descriptor)
    if message.headers:
        found["headers"] = base64.b64encode(message.headers).decode()
    return found


def read(text: str) -> dict[str, Any] | None:
    """Decode the header; None if it was not written by a broker like this one."""
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
    """Restore a message's IBM MQ fields, if they are valid; its identity fields are not
    restored."""
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
