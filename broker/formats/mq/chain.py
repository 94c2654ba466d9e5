"""Chained headers before a body; each describes the part that follows it.

The descriptor's format names the first header, that header's format the second, and the
last names the body. The descriptor is stored as JSON, the headers as bytes; functions
that change them take and return both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from broker.errors.messages import MalformedHeader
from broker.errors.mq_codes import Ccsid, Enc, Format
from broker.formats.mq.descriptor import format_of, legible
from broker.formats.mq.fixed import readable_text
from broker.formats.mq.folders import Folder
from broker.formats.mq.layouts import LAYOUTS, Layout, PlainHeader
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.formats.mq.rfh2 import Rfh2

MOST = 16  # most headers of a message
PREVIEW = 256  # bytes shown of a header that cannot be decoded
Header = Rfh2 | DeadLetterHeader | PlainHeader
UNDERSTOOD: Mapping[str, type[Rfh2] | type[DeadLetterHeader] | Layout] = {
    **LAYOUTS,
    Format.RF_HEADER_2: Rfh2,
    Format.DEAD_LETTER_HEADER: DeadLetterHeader,
}
# Prefixes of the names of other formats that are headers.
OTHER_HEADERS = ("MQH", "MQCICS", "MQIMS", "MQXMIT")

# Descriptor and headers of a message, as stored.
Stored = tuple[dict[str, Any], bytes | None]


@dataclass(frozen=True, slots=True)
class ChainLink:
    """Format, encoding and CCSID of a part, as given by the header before it or, for
    the first part, by the descriptor."""

    format: str
    encoding: int
    coded_char_set_id: int

    @property
    def is_header(self) -> bool:
        return self.format in UNDERSTOOD or self.format.startswith(OTHER_HEADERS)


@dataclass(frozen=True, slots=True)
class Chain:
    """The headers of a message, up to the first header that cannot be read."""

    headers: tuple[Header, ...]
    body: ChainLink  # the next part: the body, or a header that cannot be read
    body_offset: int
    error: MalformedHeader | None = None
    rest: bytes = b""  # the first bytes of a header that cannot be read

    @property
    def is_whole(self) -> bool:
        """Whether all headers were read."""
        return self.error is None and not self.body.is_header


def read_chain(
    format_: str, encoding: int, ccsid: int, data: bytes | memoryview
) -> Chain:
    """Read headers up to the body, or to an unknown or malformed one; never raises.

    Args:
        format_: from the descriptor, as are the next two.
        encoding: of the numbers in the first part.
        ccsid: of the text in the first part.
        data: headers and body, or the headers alone.
    """
    data, offset = bytes(data), 0
    part = ChainLink(readable_text(format_), encoding, ccsid)
    headers: list[Header] = []
    error = None
    while kind := UNDERSTOOD.get(part.format):
        try:
            if len(headers) == MOST:
                raise MalformedHeader(kind.name, f"it stands behind {MOST} others", 0)
            header = kind.from_bytes(
                data[offset:], part.encoding, part.coded_char_set_id
            )
        except MalformedHeader as malformed:
            # A faulty header of another kind is no error: no program here reads such
            # headers, so the message can be delivered.
            error = None if isinstance(kind, Layout) else malformed
            break
        headers.append(header)
        part, offset = following(header, part), offset + header.size
    rest = data[offset : offset + PREVIEW] if part.is_header else b""
    return Chain(tuple(headers), part, offset, error, rest)


def following(header: Header, before: ChainLink) -> ChainLink:
    """The part after a header; the header may inherit the CCSID from the part before
    it."""
    inherits = header.coded_char_set_id == Ccsid.INHERIT
    ccsid = before.coded_char_set_id if inherits else header.coded_char_set_id
    return ChainLink(readable_text(header.format), header.encoding, ccsid)


def first_part(descriptor: Mapping[str, Any] | None, content_type: str) -> ChainLink:
    """The first part of a message, which the descriptor describes: a header or the
    body."""
    given = legible(descriptor or {})
    return ChainLink(
        given.get("format", format_of(content_type)),
        given.get("encoding", Enc.NORMAL),
        given.get("coded_char_set_id", Ccsid.UTF_8),
    )


def chain_of(
    descriptor: Mapping[str, Any] | None,
    content_type: str,
    headers: bytes | memoryview | None,
    body: bytes | memoryview = b"",
) -> Chain:
    """As ``read_chain``, for a message as it is stored.

    Headers stand apart, or at the beginning of the body as programs of IBM MQ put
    them, or some here and the others there. ``body_offset`` counts both.

    Args:
        descriptor: its stored fields.
        content_type: which implies the format that the descriptor does not give.
        headers: the headers that stand apart.
        body: the body, or its beginning.
    """
    part = first_part(descriptor, content_type)
    data = bytes(headers or b"") + (bytes(body) if part.is_header else b"")
    return read_chain(part.format, part.encoding, part.coded_char_set_id, data)


def with_rfh2(
    descriptor: Mapping[str, Any] | None,
    headers: bytes | None,
    *,
    content_type: str,
    folders: Sequence[Folder],
) -> Stored:
    """Add an RFH2 with these folders as first header, unless the first header is an
    RFH2.

    The RFH2 takes the descriptor's format, CCSID and encoding; the descriptor then
    describes the RFH2. Nothing else changes.
    """
    part = first_part(descriptor, content_type)
    if part.format == Format.RF_HEADER_2:
        return dict(descriptor or {}), headers
    header = Rfh2(
        encoding=part.encoding,
        coded_char_set_id=part.coded_char_set_id,
        format=part.format,
        folders=tuple(folders),
    )
    return preceded(descriptor, headers, Format.RF_HEADER_2, header)


def with_dead_letter_header(
    descriptor: Mapping[str, Any] | None,
    headers: bytes | None,
    header: DeadLetterHeader,
    *,
    content_type: str,
) -> Stored:
    """Add an MQDLH as first header. The MQDLH takes the descriptor's format, CCSID and
    encoding."""
    part = first_part(descriptor, content_type)
    complete = replace(
        header,
        encoding=part.encoding,
        coded_char_set_id=part.coded_char_set_id,
        format=part.format,
    )
    return preceded(descriptor, headers, Format.DEAD_LETTER_HEADER, complete)


def preceded(
    descriptor: Mapping[str, Any] | None,
    headers: bytes | None,
    format_: Format,
    header: Header,
) -> Stored:
    changed = described(descriptor, ChainLink(format_, Enc.NORMAL, Ccsid.UTF_8))
    return changed, header.to_bytes(Enc.NORMAL) + (headers or b"")


def without_dead_letter_header(
    descriptor: Mapping[str, Any] | None, headers: bytes | None
) -> Stored:
    """Remove the MQDLH, and restore the descriptor from it; for a resend.

    A message without one is not changed.

    Raises:
        MalformedDeadLetterHeader: the format names one, but the bytes are invalid.
    """
    part = first_part(descriptor, "")
    if part.format != Format.DEAD_LETTER_HEADER:
        return dict(descriptor or {}), headers
    header = DeadLetterHeader.from_bytes(
        headers or b"", part.encoding, part.coded_char_set_id
    )
    changed = described(descriptor, following(header, part))
    return changed, (headers or b"")[header.size :] or None


def described(descriptor: Mapping[str, Any] | None, part: ChainLink) -> dict[str, Any]:
    """The descriptor's JSON for a message with this first part, without defaults."""
    usual = {"encoding": Enc.NORMAL, "coded_char_set_id": Ccsid.UTF_8}
    begins = {
        "encoding": int(part.encoding),
        "coded_char_set_id": int(part.coded_char_set_id),
    }
    others = {k: v for k, v in (descriptor or {}).items() if k not in usual}
    changed = {name: value for name, value in begins.items() if value != usual[name]}
    return others | changed | {"format": str(part.format)}
