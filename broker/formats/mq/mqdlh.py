"""The dead-letter header (MQDLH); it says why a message is on a dead letter queue."""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import ClassVar, Self

from broker.errors.messages import MalformedDeadLetterHeader
from broker.errors.mq_codes import Ccsid, Enc, Format, PutApplType, Reason
from broker.formats.mq.descriptor import date_and_time
from broker.formats.mq.fixed import (
    byte_order,
    codec_of,
    codec_of_header,
    padded,
    unpadded,
)

SIZE = 172  # size of an MQDLH in bytes
STRUC_ID, VERSION = b"DLH ", 1
LAYOUT = "4si i 48s48s 2i 8s i 28s8s8s"
TEXTS = {  # text fields, and their width in bytes
    "dest_q_name": 48,
    "dest_q_mgr_name": 48,
    "format": 8,
    "put_appl_name": 28,
    "put_date": 8,
    "put_time": 8,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterHeader:
    """A version 1 MQDLH; its fields in the order of its bytes.

    Source:
        IBM MQ documentation, "MQDLH - Dead-letter header".
    """

    name: ClassVar[str] = "MQDLH"

    reason: int = Reason.NONE
    dest_q_name: str = ""  # the queue that the message was on, or destined for
    dest_q_mgr_name: str = ""
    # This field and the next two describe the part after this header.
    encoding: int = Enc.NORMAL
    coded_char_set_id: int = Ccsid.UTF_8
    format: str = Format.NONE
    # Kind of the program that dead-lettered the message.
    put_appl_type: int = PutApplType.NO_CONTEXT
    put_appl_name: str = ""
    put_date: str = ""  # format YYYYMMDD
    put_time: str = ""  # format HHMMSSTH, in UTC

    @classmethod
    def at(cls, moment: datetime, *, reason: int, queue: str, broker_name: str) -> Self:
        """A header for a message of a queue, without the fields of the next part."""
        put_date, put_time = date_and_time(moment)
        return cls(
            reason=reason,
            dest_q_name=queue,
            dest_q_mgr_name=broker_name,
            put_date=put_date,
            put_time=put_time,
        )

    @property
    def size(self) -> int:
        return SIZE

    def to_bytes(self, encoding: int = Enc.NORMAL, ccsid: int = Ccsid.UTF_8) -> bytes:
        """The 172 bytes, their integers in the byte order of ``encoding``, their text
        in the character set ``ccsid``."""
        codec = codec_of(ccsid)
        values = {name: getattr(self, name) for name in NAMES}
        values |= {name: padded(values[name], TEXTS[name], codec) for name in TEXTS}
        begins = padded(STRUC_ID.decode(), len(STRUC_ID), codec)
        layout = byte_order(encoding) + LAYOUT
        return struct.pack(layout, begins, VERSION, *values.values())

    @classmethod
    def from_bytes(
        cls, raw: bytes, encoding: int = Enc.NORMAL, ccsid: int = Ccsid.UTF_8
    ) -> Self:
        """Read the first 172 bytes.

        Args:
            raw: from the first byte of the header.
            encoding: from the part before, the MQMD or another header.
            ccsid: likewise; of the text.

        Raises:
            MalformedDeadLetterHeader: they are not a version 1 MQDLH.
        """
        if len(raw) < SIZE:
            why = f"it has {len(raw)} of {SIZE} bytes"
            raise MalformedDeadLetterHeader(cls.name, why, len(raw))
        layout = byte_order(encoding) + LAYOUT
        struc_id, version, *values = struct.unpack_from(layout, raw)
        codec = codec_of_header(struc_id, STRUC_ID, ccsid)
        if codec is None:
            raise MalformedDeadLetterHeader(
                cls.name, "it does not begin with 'DLH '", 0
            )
        if version != VERSION:
            why = f"its version is {version}, not 1"
            raise MalformedDeadLetterHeader(cls.name, why, 4)
        named = dict(zip(NAMES, values, strict=True))
        return cls(**named | {name: unpadded(named[name], codec) for name in TEXTS})


NAMES = [field.name for field in fields(DeadLetterHeader)]


@dataclass(frozen=True, slots=True)
class Signature:
    """The application that a dead-letter header or a report names."""

    put_appl_type: PutApplType = PutApplType.JAVA
    put_appl_name: str = "MQ JMS MessageConsumer"

    def header(
        self, reason: Reason, queue: str, at: datetime, broker_name: str
    ) -> DeadLetterHeader:
        """A header with the reason why a message of a queue is dead-lettered."""
        header = DeadLetterHeader.at(
            at, reason=reason, queue=queue, broker_name=broker_name
        )
        return replace(
            header,
            put_appl_type=self.put_appl_type,
            put_appl_name=self.put_appl_name,
        )
