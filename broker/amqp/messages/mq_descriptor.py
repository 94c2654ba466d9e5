"""IBM MQ's message descriptor and headers, as AMQP clients write and read them.

Message annotations carry all fields: ``x-opt-ibm-`` and a name of ``ANNOTATIONS``. A
JMS client cannot write annotations; it uses the properties of IBM MQ classes for JMS,
as ``JMS_IBM_MsgType`` and ``JMS_IBM_MQMD_ApplIdentityData``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from broker.amqp.protocol.conditions import INVALID_FIELD, AmqpError
from broker.amqp.protocol.types.types import Int, Symbol
from broker.errors.mq_codes import Ccsid, MsgFlags
from broker.formats.mq import ccsids
from broker.formats.mq.descriptor import NAMES, OCTETS, TEXTS, legible
from broker.formats.mq.jms_properties import JMS, LAST_IN_GROUP, MQMD, PLAIN, REPORTS
from broker.formats.text import OF_IBM
from broker.queueing.get import Delivery

PREFIX = "x-opt-ibm-"
# Name of the IBM MQ headers before the body; not a field of the descriptor.
HEADERS = "headers"
# Fields of the descriptor, by the name of their annotation.
ANNOTATIONS: Mapping[str, str] = {
    **{PREFIX + field.replace("_", "-"): field for field in NAMES},
    PREFIX + "character-set": "coded_char_set_id",
    PREFIX + HEADERS: HEADERS,
}
WRITTEN = {field: Symbol(name) for name, field in ANNOTATIONS.items()}

JMS_BYTES = JMS.encode()
IN_GROUP = int(MsgFlags.MSG_IN_GROUP | MsgFlags.LAST_MSG_IN_GROUP)
PROPERTIES: Mapping[str, str] = {**MQMD, **PLAIN}
CHARACTERS: Mapping[str, int] = {  # CCSIDs, by Java's names of character sets
    **dict.fromkeys(("UTF-8", "UTF8"), Ccsid.UTF_8),
    **dict.fromkeys(("UTF-16", "UTF-16BE"), Ccsid.UTF_16),
    **dict.fromkeys(("ISO-8859-1", "ISO8859_1", "LATIN1"), 819),
    **dict.fromkeys(("US-ASCII", "ASCII"), 367),
}


def from_annotations(found: Mapping[Any, Any]) -> dict[str, Any]:
    """The descriptor's fields in annotations, and the headers.

    Raises:
        AmqpError: a field is unknown, or has an invalid value.
    """
    fields = {}
    for name, value in found.items():
        if str(name).startswith(PREFIX):
            if name not in ANNOTATIONS:
                raise refused(name, "is no field of a message descriptor")
            fields[ANNOTATIONS[name]] = plain(name, ANNOTATIONS[name], value)
    return fields


def from_properties(found: Mapping[str, Any]) -> dict[str, Any]:
    """The descriptor's fields in a JMS client's properties; others are ignored.

    Raises:
        AmqpError: a field has an invalid value.
    """
    fields = {
        field: plain(name, field, found[name])
        for name, field in PROPERTIES.items()
        if name in found
    }
    for name, mask in REPORTS.items():
        if name in found:
            bits = plain(name, "report", found[name])
            if bits & ~mask:
                raise refused(name, "asks for what it is not about")
            fields["report"] = fields.get("report", 0) | bits
    if found.get(LAST_IN_GROUP) is True:
        flags = fields.get("msg_flags", 0)
        fields["msg_flags"] = flags | IN_GROUP
    return fields


def plain(name: str, field: str, value: Any) -> Any:
    """A value as in the descriptor's JSON; the headers are bytes.

    Raises:
        AmqpError: the value has the wrong type.
    """
    if field == HEADERS:
        if type(value) is not bytes:
            raise refused(name, "must be binary")
        return value
    if field in OCTETS:
        return octets(name, field, value)
    if field in TEXTS:
        if not isinstance(value, str) or "\0" in value:
            raise refused(name, "must be text")
        return value.rstrip(" ")
    if field == "coded_char_set_id" and isinstance(value, str):
        return character_set(name, value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise refused(name, "must be a number")
    return int(value)


def octets(name: str, field: str, value: Any) -> str:
    """Bytes as hexadecimal digits, padded to the field's length; a text of digits is
    returned unchanged."""
    if isinstance(value, bytes) and len(value) <= OCTETS[field]:
        return value.ljust(OCTETS[field], b"\0").hex()
    if isinstance(value, str):
        return str(value)  # ``check_put`` will check the text
    raise refused(name, f"must be binary, of at most {OCTETS[field]} bytes")


def character_set(name: str, value: str) -> int:
    """The CCSID of a character set: by its name in Java, or a number as text."""
    if value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if (number := CHARACTERS.get(value.upper())) is not None:
        return int(number)
    if of_ibm := OF_IBM.fullmatch(value):
        return int(of_ibm[1])
    with suppress(LookupError):
        if (found := ccsids.ccsid_of(value)) is not None:
            return found
    raise refused(name, "is no known character set; give its number")


def refused(name: str, why: str) -> AmqpError:
    return AmqpError(INVALID_FIELD, f"{name[:100]} {why}.")


def annotations_of(delivery: Delivery) -> dict[Symbol, Any]:
    """Annotations for the descriptor and headers of a message."""
    found: dict[Symbol, Any] = {
        WRITTEN[name]: written(value)
        for name, value in legible(delivery.descriptor or {}).items()
    }
    if delivery.headers:
        found[WRITTEN[HEADERS]] = delivery.headers
    return found


def properties_of(delivery: Delivery) -> Iterator[tuple[str, Any]]:
    """The descriptor as properties, with the names of IBM MQ classes for JMS."""
    fields = legible(delivery.descriptor or {})
    for name, field in PLAIN.items():
        if field in fields:
            yield name, written(fields[field])
    report = fields.get("report", 0)
    for name, mask in REPORTS.items():
        if bits := report & mask:
            yield name, Int(bits)


def written(value: str | int | bytes) -> Any:
    return Int(value) if isinstance(value, int) else value
