"""The message descriptor (MQMD) of IBM MQ.

Most of its fields are columns of a message. The others are in a JSON object, which has
only values that differ from the columns and the defaults. ``Descriptor.of`` combines
both, ``stored`` gives the JSON.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, Self

from broker.errors import InvalidMessage
from broker.errors.messages import (
    MalformedHeader,
    MissingReplyTo,
    WrongExpiry,
)
from broker.errors.mq_codes import (
    EXPIRY_UNLIMITED,
    ORIGINAL_LENGTH_UNDEFINED,
    Ccsid,
    Enc,
    Format,
    MsgFlags,
    MsgType,
    Persistence,
    PutApplType,
)
from broker.formats.mq import report_options
from broker.formats.mq.fixed import byte_order, padded, unpadded

SIZE = 364  # size of an MQMD in bytes
STRUC_ID, VERSION = b"MD  ", 2
LAYOUT = "4si 6i 8s 2i 24s24s i 48s48s 12s32s32s i28s8s8s 4s 24s 4i"
TEXTS = {  # text fields, and their width in bytes
    "format": 8,
    "reply_to_q": 48,
    "reply_to_q_mgr": 48,
    "user_identifier": 12,
    "appl_identity_data": 32,
    "put_appl_name": 28,
    "put_date": 8,
    "put_time": 8,
    "appl_origin_data": 4,
}
OCTETS = {"msg_id": 24, "correl_id": 24, "accounting_token": 32, "group_id": 24}
COLUMNS = {  # fields that are stored in columns of the message; never in the JSON
    *("priority", "persistence", "expiry", "backout_count"),
    *("reply_to_q", "put_date", "put_time"),
}

TEXTUAL = ("text/", "application/json", "application/xml")
LONGEST_EXPIRY = 999_999_999  # largest expiry, in tenths of a second
TENTH = timedelta(milliseconds=100)


class DescribedMessage(Protocol):
    """The source of a descriptor; a delivery implements it."""

    @property
    def message_id(self) -> int: ...  # the broker's message number
    @property
    def client_message_id(self) -> str | None: ...
    @property
    def backout_count(self) -> int: ...
    @property
    def priority(self) -> int: ...
    @property
    def durable(self) -> bool: ...
    @property
    def put_at(self) -> datetime: ...
    @property
    def expires_at(self) -> datetime | None: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def group_id(self) -> str | None: ...
    @property
    def content_type(self) -> str: ...
    @property
    def descriptor(self) -> Mapping[str, Any] | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """A version 2 MQMD; its fields in the order of its bytes.

    Source:
        IBM MQ documentation, "MQMD - Message descriptor".
    """

    report: int = 0
    msg_type: int = MsgType.DATAGRAM
    expiry: int = EXPIRY_UNLIMITED  # tenths of a second that remain
    feedback: int = 0
    encoding: int = Enc.NORMAL
    coded_char_set_id: int = Ccsid.UTF_8
    format: str = Format.NONE
    priority: int = 4
    persistence: int = Persistence.PERSISTENT
    msg_id: bytes = bytes(OCTETS["msg_id"])
    correl_id: bytes = bytes(OCTETS["correl_id"])
    backout_count: int = 0
    reply_to_q: str = ""
    reply_to_q_mgr: str = ""
    user_identifier: str = ""
    accounting_token: bytes = bytes(OCTETS["accounting_token"])
    appl_identity_data: str = ""
    put_appl_type: int = PutApplType.NO_CONTEXT
    put_appl_name: str = ""
    put_date: str = ""  # format YYYYMMDD
    put_time: str = ""  # format HHMMSSTH, in UTC
    appl_origin_data: str = ""
    group_id: bytes = bytes(OCTETS["group_id"])
    msg_seq_number: int = 1
    offset: int = 0
    msg_flags: int = 0
    original_length: int = ORIGINAL_LENGTH_UNDEFINED

    @classmethod
    def of(cls, message: DescribedMessage, *, broker_name: str, now: datetime) -> Self:
        """The whole descriptor of a message.

        Fields that its sender did not give are derived: the MsgId from the broker's
        name and the message number, as a queue manager does; the format from the
        content type. A stored value that is invalid for its field is left out.
        """
        put_date, put_time = date_and_time(message.put_at)
        grouped = bool(message.group_id)
        implied: dict[str, Any] = {
            "expiry": remaining(message.expires_at, now),
            "format": format_of(message.content_type),
            "priority": message.priority,
            "persistence": int(message.durable),
            "msg_id": own_id(message, broker_name),
            "correl_id": identifier(message.correlation_id),
            "backout_count": message.backout_count,
            "reply_to_q": message.reply_to or "",
            "put_date": put_date,
            "put_time": put_time,
            "group_id": identifier(message.group_id),
            "msg_flags": MsgFlags.MSG_IN_GROUP if grouped else MsgFlags.NONE,
        }
        return cls(**implied | legible(message.descriptor or {}))

    @property
    def jms_message_id(self) -> str:
        return f"ID:{self.msg_id.hex()}"

    def stored(self, implied: Descriptor | None = None) -> dict[str, Any]:
        """The fields without a column that differ from ``implied``, as JSON.

        Args:
            implied: the descriptor that the columns alone imply; if it is not given,
                the default values.
        """
        plain = implied or Descriptor()
        return {
            name: value.hex() if isinstance(value, bytes) else value
            for name in STORED
            if (value := getattr(self, name)) != getattr(plain, name)
        }

    def to_bytes(self, encoding: int = Enc.NORMAL) -> bytes:
        """The 364 bytes, their integers in the byte order of ``encoding``."""
        values = {name: getattr(self, name) for name in NAMES}
        values |= {name: padded(values[name], TEXTS[name]) for name in TEXTS}
        layout = byte_order(encoding) + LAYOUT
        return struct.pack(layout, STRUC_ID, VERSION, *values.values())

    @classmethod
    def from_bytes(cls, raw: bytes, encoding: int = Enc.NORMAL) -> Self:
        """Read the first 364 bytes, in the byte order of ``encoding``.

        Raises:
            MalformedHeader: the bytes are not a version 2 MQMD.
        """
        if len(raw) < SIZE:
            why = f"it has {len(raw)} of {SIZE} bytes"
            raise MalformedHeader("MQMD", why, len(raw))
        layout = byte_order(encoding) + LAYOUT
        struc_id, version, *values = struct.unpack_from(layout, raw)
        if struc_id != STRUC_ID:
            raise MalformedHeader("MQMD", "it does not begin with 'MD  '", 0)
        if version != VERSION:
            raise MalformedHeader("MQMD", f"its version is {version}, not 2", 4)
        named = dict(zip(NAMES, values, strict=True))
        return cls(**named | {name: unpadded(named[name]) for name in TEXTS})


NAMES = [field.name for field in fields(Descriptor)]
STORED = [name for name in NAMES if name not in COLUMNS]


def check_put(
    descriptor: Mapping[str, Any], reply_to: str | None, expiry: int | None = None
) -> None:
    """Refuse a descriptor that a message cannot be put with.

    Args:
        descriptor: as it would be stored.
        reply_to: the column.
        expiry: tenths of a second, if the sender gave it in this form.

    Raises:
        InvalidMessage: a field is unknown or has an invalid value.
        WrongReportOptions: see ``report_options.check``.
        MissingReplyTo: a report or a reply is requested without a reply-to queue.
        WrongExpiry: neither never nor 1 to 999,999,999.
    """
    for name, value in descriptor.items():
        try:
            field_value(name, value)
        except ValueError as wrong:
            # A put ignores the backout count, as IBM MQ does.
            if name != "backout_count":
                raise InvalidMessage(f"its descriptor's {name} {wrong}") from None
    report = descriptor.get("report", 0)
    if report:
        report_options.check(report, descriptor.get("format", ""))
    is_request = descriptor.get("msg_type") == MsgType.REQUEST
    if (report & report_options.ANY_REPORT or is_request) and not reply_to:
        raise MissingReplyTo(report)
    if expiry is not None and not is_expiry(expiry):
        raise WrongExpiry(expiry)


def is_expiry(tenths: int) -> bool:
    return tenths == EXPIRY_UNLIMITED or 0 < tenths <= LONGEST_EXPIRY


def field_value(name: str, value: Any) -> Any:
    """The value of a field of the JSON, for ``Descriptor``.

    Raises:
        ValueError: there is no such field, or the value is invalid.
    """
    if name not in STORED:
        raise ValueError("is no field")
    if name in OCTETS:
        digits = 2 * OCTETS[name]
        if not isinstance(value, str) or not re.fullmatch("[0-9a-fA-F]*", value):
            raise ValueError("must be hexadecimal digits")
        if len(value) != digits:
            raise ValueError(f"must have {digits} digits")
        return bytes.fromhex(value)
    if name in TEXTS:
        width = TEXTS[name]
        if not isinstance(value, str) or len(value.encode("utf-8", "replace")) > width:
            raise ValueError(f"must be text of at most {width} bytes")
        return value
    if type(value) is not int or not -(2**31) <= value < 2**31:
        raise ValueError("must be a number of 32 bits")
    return value


def legible(stored: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in stored.items():
        try:
            found[name] = field_value(name, value)
        except ValueError:
            continue
    return found


def format_of(content_type: str) -> Format:
    """The format of a body, derived from its content type."""
    textual = content_type.strip().lower().startswith(TEXTUAL)
    return Format.STRING if textual else Format.NONE


def own_id(message: DescribedMessage, broker_name: str) -> bytes:
    """The MsgId: from the sender's JMSMessageID, or generated as IBM MQ does."""
    name = message.client_message_id or ""
    if re.fullmatch("ID:[0-9a-fA-F]{48}", name):
        return identifier(name)
    return made_id(message.message_id, broker_name)


def made_id(number: int, broker_name: str) -> bytes:
    """The MsgId of a message whose sender gave no id."""
    return b"AMQ " + padded(broker_name, 12) + number.to_bytes(8, "big", signed=True)


def identifier(name: str | None) -> bytes:
    """The 24 bytes for a text id of JMS.

    Source:
        IBM MQ documentation, "Mapping JMS property fields" (JMSXGroupID to MQRFH2).
    """
    text = name or ""
    if re.fullmatch("ID:(?:[0-9a-fA-F]{2}){1,24}", text):
        raw = bytes.fromhex(text.removeprefix("ID:"))
    else:
        raw = text.encode("utf-8", "replace")[: OCTETS["correl_id"]]
    return raw.ljust(OCTETS["correl_id"], b"\0")


def remaining(expires_at: datetime | None, now: datetime) -> int:
    """Tenths of a second until a time; -1: unlimited; at least 1, as the message is
    delivered."""
    if expires_at is None:
        return EXPIRY_UNLIMITED
    return min(max((expires_at - now) // TENTH, 1), LONGEST_EXPIRY)


def date_and_time(moment: datetime) -> tuple[str, str]:
    """Date and time for headers: YYYYMMDD and HHMMSSTH, in UTC."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y%m%d}", f"{utc:%H%M%S}{utc.microsecond // 10_000:02}"
