"""Messages as JSON, for the API and the command line."""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass
from typing import Any, Literal

from broker.formats.mq.ccsids import charset
from broker.formats.mq.coding import Coding, coding_in
from broker.formats.text import Text, text_of
from broker.models import Place
from broker.queueing.get import Delivery
from broker.security.redaction import CLEAR, Veil

FIELDS = (
    *("content_type", "properties", "client_message_id", "correlation_id"),
    *("reply_to", "subject", "group_id", "producer", "durable"),
)

PLACES = {
    "ready": Place.READY,
    "in-flight": Place.CLAIMED,
    "delayed": Place.DELAYED,
}


@dataclass(frozen=True, slots=True)
class WrittenBody:
    """A body as text if it is text, otherwise in Base64."""

    body: str
    encoding: Literal["text", "base64"]
    charset: str  # the character set of the body's bytes; empty for Base64


def written(
    body: bytes, content_type: str = "", coding: Coding | None = None
) -> WrittenBody:
    """A body as text, in the character set that its message names; in Base64 if it
    would not be written as it was.

    Args:
        body: the body.
        content_type: as its sender declared it.
        coding: what IBM MQ's descriptor and headers say of it.
    """
    try:
        found = read(body, content_type, coding)
        # with the byte order mark
        text = found.text if not found.before else body.decode()
    except ValueError:
        return WrittenBody(base64.b64encode(body).decode(), "base64", "")
    return WrittenBody(text, "text", charset(found.codec))


def read(body: bytes, content_type: str, coding: Coding | None) -> Text:
    """The text of a body; UTF-8 where the declared character set does not fit.

    Raises:
        ValueError: it is no text.
    """
    try:
        return text_of(body, content_type, coding)
    except ValueError:
        if coding is not None:
            raise
        return text_of(body, "")


def message_document(one: Delivery, veil: Veil = CLEAR) -> dict[str, Any]:
    """A message as JSON, with its masked parts removed."""
    coding = coding_in(one)
    seen = veil.body(one.body, one.content_type, coding)
    properties, hidden = veil.properties(one.properties)
    shown = (
        written(seen.body)
        if seen.is_withheld
        else written(seen.body, one.content_type, coding)
    )
    plain = (*FIELDS, "message_id", "address", "priority", "put_at", "expires_at")
    return {
        **{name: getattr(one, name) for name in plain},
        "properties": properties,
        **asdict(shown),
        "backout_count": one.backout_count,
        "descriptor": one.descriptor,
        "masked_by": list(dict.fromkeys([*seen.by, *hidden])),
        "is_withheld": seen.is_withheld,
        "headers_base64": None
        if one.headers is None or veil
        else base64.b64encode(one.headers).decode(),
    }
