"""Headers before a body, each of which says what comes after it.

The descriptor's format names the first header, that header's format the second, until
one names the body. What is stored of them is the descriptor's JSON and the headers'
bytes; the functions here that change them take both and return both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from broker.errors.messages import MalformedHeader
from broker.errors.mq_codes import Ccsid, Enc, Format
from broker.formats.mq.descriptor import format_of, legible
from broker.formats.mq.fixed import shown
from broker.formats.mq.folders import Folder
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.formats.mq.rfh2 import Rfh2

MOST = 16  # headers
PREVIEW = 256  # bytes of what is not understood
Header = Rfh2 | DeadLetterHeader
UNDERSTOOD: Mapping[str, type[Header]] = {
    Format.RF_HEADER_2: Rfh2,
    Format.DEAD_LETTER_HEADER: DeadLetterHeader,
}
OTHER_HEADERS = ("MQH", "MQCICS", "MQIMS", "MQXMIT")  # beginnings of their formats

Stored = tuple[dict[str, Any], bytes | None]  # descriptor and headers of a message


@dataclass(frozen=True, slots=True)
class ChainLink:
    """What one header says of what follows it; for the first, the descriptor."""

    format: str
    encoding: int
    coded_char_set_id: int

    @property
    def is_header(self) -> bool:
        return self.format in UNDERSTOOD or self.format.startswith(OTHER_HEADERS)


@dataclass(frozen=True, slots=True)
class Chain:
    """The headers of a message as far as they can be read."""

    headers: tuple[Header, ...]
    body: ChainLink  # what is left: the body, or a header that cannot be read
    body_offset: int
    error: MalformedHeader | None = None
    rest: bytes = b""  # the beginning of a header that cannot be read

    @property
    def is_whole(self) -> bool:
        """Whether what is left is the body."""
        return self.error is None and not self.body.is_header


def read_chain(
    format_: str, encoding: int, ccsid: int, data: bytes | memoryview
) -> Chain:
    """Read headers until the body, or one that is unknown or malformed; never raises.

    Args:
        format_: of the descriptor, as are the next two.
        encoding: of the numbers in what comes first.
        ccsid: of the text in it.
        data: headers and body, or the headers alone.
    """
    data, offset = bytes(data), 0
    part = ChainLink(shown(format_), encoding, ccsid)
    headers: list[Header] = []
    error = None
    while error is None and (kind := UNDERSTOOD.get(part.format)):
        try:
            if len(headers) == MOST:
                raise MalformedHeader(kind.name, f"it stands behind {MOST} others", 0)
            header = kind.from_bytes(data[offset:], part.encoding)
        except MalformedHeader as malformed:
            error = malformed
        else:
            headers.append(header)
            part, offset = following(header, part), offset + header.size
    rest = data[offset : offset + PREVIEW] if part.is_header else b""
    return Chain(tuple(headers), part, offset, error, rest)


def following(header: Header, before: ChainLink) -> ChainLink:
    """What a header says of what follows it; it may say "as before"."""
    inherits = header.coded_char_set_id == Ccsid.INHERIT
    ccsid = before.coded_char_set_id if inherits else header.coded_char_set_id
    return ChainLink(shown(header.format), header.encoding, ccsid)


def first_part(descriptor: Mapping[str, Any] | None, content_type: str) -> ChainLink:
    """What a message's descriptor says of its first header, or of its body."""
    given = legible(descriptor or {})
    return ChainLink(
        given.get("format", format_of(content_type)),
        given.get("encoding", Enc.NORMAL),
        given.get("coded_char_set_id", Ccsid.UTF_8),
    )


def chain_of(
    descriptor: Mapping[str, Any] | None, content_type: str, data: bytes | memoryview
) -> Chain:
    """``read_chain`` for a message as it is stored."""
    part = first_part(descriptor, content_type)
    return read_chain(part.format, part.encoding, part.coded_char_set_id, data)


def with_rfh2(
    descriptor: Mapping[str, Any] | None,
    headers: bytes | None,
    *,
    content_type: str,
    folders: Sequence[Folder],
) -> Stored:
    """Put an RFH2 of these folders first, unless one is there.

    The descriptor's format, CCSID and encoding become those of the RFH2, which takes
    over the old ones. Nothing else changes.
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
    """Put an MQDLH first, which takes over the old format, CCSID and encoding."""
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
    """Take the MQDLH away and restore what it says of the rest; for a resend.

    A message that has none stays as it is.

    Raises:
        MalformedDeadLetterHeader: the format says that there is one, and it is none.
    """
    part = first_part(descriptor, "")
    if part.format != Format.DEAD_LETTER_HEADER:
        return dict(descriptor or {}), headers
    header = DeadLetterHeader.from_bytes(headers or b"", part.encoding)
    changed = described(descriptor, following(header, part))
    return changed, (headers or b"")[header.size :] or None


def described(descriptor: Mapping[str, Any] | None, part: ChainLink) -> dict[str, Any]:
    """The descriptor's JSON once the message begins so; defaults are left out."""
    usual = {"encoding": Enc.NORMAL, "coded_char_set_id": Ccsid.UTF_8}
    begins = {
        "encoding": int(part.encoding),
        "coded_char_set_id": int(part.coded_char_set_id),
    }
    others = {k: v for k, v in (descriptor or {}).items() if k not in usual}
    changed = {name: value for name, value in begins.items() if value != usual[name]}
    return others | changed | {"format": str(part.format)}
