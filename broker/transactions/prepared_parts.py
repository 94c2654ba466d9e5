"""The actions of a prepared commit, as they are stored until the decision."""

from __future__ import annotations

from typing import Any, NamedTuple

from broker.formats import moments
from broker.queueing.store import NewMessage, check_times

MOMENTS = ("expires_at", "deliver_at")
BYTES = ("body", "headers", "envelope")


class PreparedPart(NamedTuple):
    """An action of a commit: a put, a confirmation, a removal, or a rejection."""

    # Fields of the message to put, but those of bytes; or the kind of another action,
    # with its data.
    fields: dict[str, Any]
    body: bytes
    headers: bytes | None
    envelope: bytes | None


def fields_of(put: NewMessage) -> dict[str, Any]:
    """The fields of a message as JSON, without those of bytes.

    Raises:
        InvalidMessage: a time has no offset.
    """
    check_times([put])
    return {
        field: value.isoformat() if field in MOMENTS else value
        for field in NewMessage.__dataclass_fields__
        if field not in BYTES and (value := getattr(put, field)) is not None
    }


def bytes_of(put: NewMessage) -> tuple[bytes, bytes | None, bytes | None]:
    return put.body, put.headers, put.envelope


def message_of(part: PreparedPart) -> NewMessage:
    fields = dict(part.fields)
    for field in MOMENTS:
        if field in fields:
            fields[field] = moments.parse(fields[field])
    _, body, headers, envelope = part
    return NewMessage(**fields, body=body, headers=headers, envelope=envelope)
