"""Headers that the broker only reads: MQCIH, MQIIH, MQMDE, MQWIH, MQRFH version 1.

All begin with the same fields. A shorter version has fewer fields; bytes beyond the
fields are kept.

Source:
    IBM MQ documentation, "Data types used in the MQI".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from broker.errors.messages import MalformedHeader
from broker.errors.mq_codes import Ccsid, Enc
from broker.formats.mq.fixed import (
    byte_order,
    codec_of,
    codec_of_header,
    padded,
    unpadded,
)

SIZE = 32  # size in bytes of the fields that all these headers have
NUMBER = "i"
COMMON = "4s iii i8s i"
Field = tuple[
    str, str
]  # name; "i", or a width in bytes and "t" for text, "b" for bytes
Value = str | int | bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainHeader:
    """A header as a list of its fields."""

    layout: Layout
    version: int
    encoding: int  # This field and the next two describe the part after this header.
    coded_char_set_id: int
    format: str
    flags: int
    values: tuple[Value, ...]  # values of the layout's fields, in order
    rest: bytes = b""  # bytes of the header after its known fields

    @property
    def name(self) -> str:
        return self.layout.name

    @property
    def size(self) -> int:
        """StrucLength: the length of the whole header, in bytes."""
        fields = self.layout.fields[: len(self.values)]
        return SIZE + sum(map(width_of, fields)) + len(self.rest)

    @property
    def fields(self) -> list[tuple[str, Value]]:
        """All fields, by name, and the bytes beyond them."""
        common: list[tuple[str, Value]] = [
            (name, getattr(self, name))
            for name in ("version", "encoding", "coded_char_set_id", "format", "flags")
        ]
        names = [name for name, _ in self.layout.fields]
        own = list(zip(names, self.values, strict=False))
        return common + own + ([("rest", self.rest)] if self.rest else [])

    def to_bytes(self, encoding: int = Enc.NORMAL, ccsid: int = Ccsid.UTF_8) -> bytes:
        """The header, its integers in the byte order of ``encoding``, its text in the
        character set ``ccsid``."""
        order, codec = byte_order(encoding), codec_of(ccsid)
        common = struct.pack(
            order + COMMON,
            padded(self.layout.struc_id.decode(), 4, codec),
            *(self.version, self.size, self.encoding, self.coded_char_set_id),
            *(padded(self.format, 8, codec), self.flags),
        )
        own = (
            encoded(value, field, order, codec)
            for value, field in zip(self.values, self.layout.fields, strict=False)
        )
        return common + b"".join(own) + self.rest


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a kind of header, after the fields that all kinds have."""

    name: str
    struc_id: bytes
    fields: tuple[Field, ...]

    def from_bytes(
        self, raw: bytes, encoding: int = Enc.NORMAL, ccsid: int = Ccsid.UTF_8
    ) -> PlainHeader:
        """Read the header at the beginning of ``raw``.

        Args:
            raw: from the first byte of the header.
            encoding: from the part before, the MQMD or another header.
            ccsid: likewise; of the text.

        Raises:
            MalformedHeader: it has another identifier, or its length is wrong.
        """
        if len(raw) < SIZE:
            why = f"it has {len(raw)} of at least {SIZE} bytes"
            raise MalformedHeader(self.name, why, len(raw))
        order = byte_order(encoding)
        struc_id, version, length, *others = struct.unpack_from(order + COMMON, raw)
        following, next_ccsid, format_, flags = others
        if (codec := codec_of_header(struc_id, self.struc_id, ccsid)) is None:
            why = f"it does not begin with {self.struc_id.decode()!r}"
            raise MalformedHeader(self.name, why, 0)
        if not SIZE <= length <= len(raw):
            why = f"its length is {length}, of {len(raw)} bytes"
            raise MalformedHeader(self.name, why, 8)
        values, end = self.values_of(raw[:length], order, codec)
        return PlainHeader(
            layout=self,
            version=version,
            encoding=following,
            coded_char_set_id=next_ccsid,
            format=unpadded(format_, codec),
            flags=flags,
            values=values,
            rest=raw[end:length],
        )

    def values_of(
        self, raw: bytes, order: str, codec: str
    ) -> tuple[tuple[Value, ...], int]:
        """The values of the fields that the bytes contain, and the offset after the
        last field."""
        values, at = [], SIZE
        for field in self.fields:
            if at + width_of(field) > len(raw):
                break
            piece = raw[at : at + width_of(field)]
            values.append(decoded(piece, field, order, codec))
            at += len(piece)
        return tuple(values), at


def width_of(field: Field) -> int:
    return 4 if field[1] == NUMBER else int(field[1][:-1])


def decoded(piece: bytes, field: Field, order: str, codec: str) -> Value:
    if field[1] == NUMBER:
        (number,) = struct.unpack(f"{order}i", piece)
        return int(number)
    return unpadded(piece, codec) if field[1].endswith("t") else piece


def encoded(value: Any, field: Field, order: str, codec: str) -> bytes:
    if field[1] == NUMBER:
        return struct.pack(f"{order}i", value)
    return padded(value, width_of(field), codec) if isinstance(value, str) else value


def numbers(*names: str) -> tuple[Field, ...]:
    return tuple((name, NUMBER) for name in names)


def texts(width: int, *names: str) -> tuple[Field, ...]:
    return tuple((name, f"{width}t") for name in names)


LAYOUTS = {  # layouts by the format's name
    "MQCICS": Layout(
        "MQCIH",
        b"CIH ",
        (
            *numbers("return_code", "comp_code", "reason", "u_o_w_control"),
            *numbers("get_wait_interval", "link_type", "output_data_length"),
            *numbers("facility_keep_time", "a_d_s_descriptor", "conversational_task"),
            *numbers("task_end_status"),
            ("facility", "8b"),
            *texts(4, "function", "abend_code"),
            *texts(8, "authenticator", "reserved1", "reply_to_format"),
            *texts(4, "remote_sys_id", "remote_trans_id", "transaction_id"),
            *texts(4, "facility_like", "attention_id", "start_code", "cancel_code"),
            *texts(4, "next_transaction_id"),
            *texts(8, "reserved2", "reserved3"),
            *numbers("cursor_position", "error_offset", "input_item", "reserved4"),
        ),
    ),
    "MQIMS": Layout(
        "MQIIH",
        b"IIH ",
        (
            *texts(8, "l_term_override", "m_f_s_map_name", "reply_to_format"),
            *texts(8, "authenticator"),
            ("tran_instance_id", "16b"),
            *texts(1, "tran_state", "commit_mode", "security_scope", "reserved"),
        ),
    ),
    "MQHMDE": Layout(
        "MQMDE",
        b"MDE ",
        (
            ("group_id", "24b"),
            *numbers("msg_seq_number", "offset", "msg_flags", "original_length"),
        ),
    ),
    "MQHWIH": Layout(
        "MQWIH",
        b"WIH ",
        (
            *texts(32, "service_name"),
            *texts(8, "service_step"),
            ("msg_token", "16b"),
            *texts(32, "reserved"),
        ),
    ),
    "MQHRF": Layout("MQRFH", b"RFH ", ()),
}
