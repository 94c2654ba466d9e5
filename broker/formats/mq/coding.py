"""How the body of a message of IBM MQ is encoded: by its last header, or by its
descriptor if it has none."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from broker.errors.mq_codes import Ccsid, Enc, Format
from broker.formats.messages import AnyMessage
from broker.formats.mq import ccsids
from broker.formats.mq.chain import (
    Chain,
    ChainLink,
    Stored,
    chain_of,
    described,
    first_part,
    following,
)

MARKS = {  # byte order marks, by the codec that reads them
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}


@dataclass(frozen=True, slots=True)
class Coding:
    """The headers of a message; the last header describes the body."""

    chain: Chain
    offset: int  # bytes of headers at the beginning of the body

    @property
    def is_string(self) -> bool:
        """Whether the body is declared as text (MQFMT_STRING)."""
        return self.chain.body.format == Format.STRING

    @property
    def codec(self) -> str:
        """The codec of the body's text.

        Raises:
            ValueError: there is none; the reason is the end of a sentence.
        """
        part = self.chain.body
        return ccsids.codec_of(part.coded_char_set_id, part.encoding)

    def beginning(self, text: bytes, *, is_whole: bool = False) -> str:
        """The text at the beginning of a body; its last character may be cut in two.

        Args:
            text: the bytes behind the headers.
            is_whole: whether nothing is missing at their end.

        Raises:
            ValueError: they are no text; the reason is the end of a sentence.
        """
        codec = by_mark(text, self.codec)
        decoder = codecs.getincrementaldecoder(codec)()
        try:
            return decoder.decode(text, is_whole)
        except UnicodeDecodeError:
            raise ValueError(f"its bytes are not {ccsids.label(codec)}") from None


def by_mark(body: bytes, codec: str) -> str:
    """The codec. If the body begins with a byte order mark, it is the codec without
    byte order, so that the mark decides."""
    marks = MARKS.get(codec[:6], ())
    return codec[:6] if body.startswith(marks) and marks else codec


def coding_of(
    descriptor: Mapping[str, Any] | None,
    content_type: str,
    headers: bytes | memoryview | None,
    body: bytes | memoryview = b"",
) -> Coding | None:
    """How a body is encoded; None for a message that IBM MQ does not describe, or with
    a header that cannot be read.

    Args:
        descriptor: its stored fields.
        content_type: which implies the format that the descriptor does not give.
        headers: the headers that stand apart from the body.
        body: the body, or its beginning.
    """
    if not descriptor and not headers:
        return None
    chain = chain_of(descriptor, content_type, headers, body)
    if not chain.is_whole:
        return None
    return Coding(chain, max(chain.body_offset - len(headers or b""), 0))


def coding_in(message: AnyMessage) -> Coding | None:
    """Like ``coding_of``, for a whole message."""
    return coding_of(
        message.descriptor, message.content_type, message.headers, message.body
    )


def in_utf_8(
    descriptor: Mapping[str, Any] | None, content_type: str, headers: bytes | None
) -> Stored:
    """Descriptor and headers of a message whose text was converted to UTF-8: the last
    header, or the descriptor, names its character set.

    Args:
        descriptor: its stored fields.
        content_type: of the message.
        headers: the headers, all apart from the body.
    """
    part = first_part(descriptor, content_type)
    chain = chain_of(descriptor, content_type, headers)
    if not chain.headers:
        text = ChainLink(part.format, Enc.NORMAL, Ccsid.UTF_8)
        return described(descriptor, text), headers
    *before, last = chain.headers
    for one in before:
        part = following(one, part)
    after = replace(last, encoding=Enc.NORMAL, coded_char_set_id=Ccsid.UTF_8)
    kept = (headers or b"")[: chain.body_offset - last.size]
    written = after.to_bytes(part.encoding, part.coded_char_set_id)
    return dict(descriptor or {}), kept + written
