"""Unwraps a body layer by layer: content encodings, IBM MQ headers, base64.

Encodings declared by the sender come first, then what the bytes suggest. A layer is
removed only if it decodes completely. Each step and each error is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils.translation import gettext, gettext_noop

from broker.errors.mq_codes import Ccsid, Enc, Format
from broker.formats.mq.chain import Chain, read_chain
from broker.formats.mq.coding import Coding
from broker.formats.mq.describing import describe
from console.bodies.decompress import (
    ENCODINGS,
    PACKINGS,
    Unpacked,
    Unpacker,
    looks_like_base64,
    looks_packed,
)

MOST = 4  # the most layers that are removed
UNDECLARED = ("", "application/octet-stream")
MQ_FORMATS = {b"RFH ": Format.RF_HEADER_2, b"DLH ": Format.DEAD_LETTER_HEADER}
UNSAID = gettext_noop("It is packed with %(name)s, which its sender did not say.")
NO_SUCH = gettext_noop(
    "Its sender says it is packed with %(name)s, which is not unpacked here."
)
NOT_SO = gettext_noop("Its sender says it is packed with %(name)s, but %(error)s.")
NOT_AS_WANTED = gettext_noop("It cannot be shown as %(name)s: %(error)s.")


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer that was removed."""

    name: str
    size: int | None  # bytes of the content; None if only a part was counted


@dataclass(frozen=True, slots=True)
class Opened:
    """The unwrapped content of a body."""

    head: bytes
    is_kept: bool  # whether ``head`` is the whole content
    content_type: str  # the type of the content; empty if unknown
    layers: tuple[Layer, ...] = ()
    notices: tuple[str, ...] = ()
    # the wrapping is damaged; ``head`` is the part that was decoded
    is_broken: bool = False
    preface: str = ""  # decoded headers before the content
    coding: Coding | None = None  # what IBM MQ's headers say of the content

    def without(self, out: Unpacked, *notices: str) -> Opened:
        """The content with one layer less."""
        # Without the whole body, the end was not read: an error there is no damage.
        is_broken = self.is_kept and out.is_broken
        own = [out.notice] if out.notice and (is_broken or not out.is_broken) else []
        is_counted = self.is_kept and out.is_whole
        return replace(
            self,
            head=out.head,
            is_kept=self.is_kept and out.is_complete,
            layers=(*self.layers, Layer(out.name, out.size if is_counted else None)),
            notices=(*self.notices, *notices, *own),
            is_broken=self.is_broken or is_broken,
        )

    def saying(self, notice: str) -> Opened:
        return replace(self, notices=(*self.notices, notice))


def opened(
    head: bytes,
    size: int,
    content_type: str,
    *,
    encoding: str = "",
    wanted: str = "",
    coding: Coding | None = None,
) -> Opened:
    """Unwrap a body.

    Args:
        head: its first bytes.
        size: its full length in bytes.
        content_type: declared by the sender.
        encoding: content encodings declared by the sender, the innermost first.
        wanted: a packing (``PACKINGS``) that an operator chose; other values are
            ignored.
        coding: what IBM MQ's descriptor and headers say of the body.
    """
    body = Opened(head, len(head) == size, content_type, coding=coding)
    if coding is not None and coding.offset:
        body = without_chain(body, coding.chain, coding.offset)
    body = without_declared(body, encoding)
    if wanted in PACKINGS:
        try:
            body = body.without(PACKINGS[wanted](body.head))
        except ValueError as error:
            body = body.saying(warning(NOT_AS_WANTED, wanted, error))
        else:
            body = replace(body, content_type="")
    while len(body.layers) < MOST and (inner := without_next(body)):
        body = inner
    return body


def without_declared(body: Opened, encoding: str) -> Opened:
    """The content without the encodings that the sender declared."""
    names = [one.strip().lower() for one in encoding.split(",")][:MOST]
    for name in reversed([one for one in names if one not in ("", "identity")]):
        body = without_named(body, name)
    name = body.content_type.partition(";")[0].strip().lower()
    if name in ENCODINGS and "/" in name:
        body = replace(without_named(body, name), content_type="")
    return body


def without_named(body: Opened, name: str) -> Opened:
    short = name[:40]
    if (unpack := ENCODINGS.get(name)) is None:
        return body.saying(warning(NO_SUCH, short))
    try:
        return body.without(unpack(body.head))
    except ValueError as error:
        return body.saying(warning(NOT_SO, short, error))


def warning(text: str, name: str, error: object = "") -> str:
    """One of the sentences above, about an encoding."""
    return gettext(text) % {"name": name, "error": error}


def without_next(body: Opened) -> Opened | None:
    """The content without the layer that its bytes suggest; None if there is none."""
    if kind := MQ_FORMATS.get(body.head[:4]):
        return without_headers(body, kind)
    is_declared = body.content_type not in UNDECLARED
    if unpack := looks_packed(body.head):
        return tried(body, unpack, is_declared=is_declared)
    if not is_declared and body.is_kept and looks_like_base64(body.head):
        inner = tried(body, PACKINGS["base64"], is_declared=False)
        return inner if inner and is_meant(inner.head) else None
    return None


def tried(body: Opened, unpack: Unpacker, *, is_declared: bool) -> Opened | None:
    try:
        out = unpack(body.head)
    except ValueError:
        return None
    if out.is_broken and out.name != "gzip":  # only gzip has a reliable magic number
        return None
    return body.without(out, *([warning(UNSAID, out.name)] if is_declared else []))


def is_meant(inner: bytes) -> bool:
    """Whether decoded base64 is meaningful rather than accidental."""
    if looks_packed(inner) or inner[:4] in MQ_FORMATS:
        return True
    try:
        text = inner.decode()
    except UnicodeDecodeError:
        return False
    return all(one.isprintable() or one in "\r\n\t" for one in text)


def without_headers(body: Opened, kind: Format) -> Opened | None:
    """The content without IBM MQ headers, of either byte order."""
    for encoding in (Enc.NORMAL, Enc.REVERSED):
        chain = read_chain(kind, encoding, Ccsid.UTF_8, body.head)
        if chain.headers:
            break
    else:
        return None
    return without_chain(body, chain, chain.body_offset)


def without_chain(body: Opened, chain: Chain, offset: int) -> Opened:
    """The content without the headers at its beginning, up to this offset."""
    found = describe(chain)[: len(chain.headers)]
    words = "\n\n".join(
        "\n".join([one.name, *(f"  {name} = {value}" for name, value in one.fields)])
        for one in found
    )
    rest = body.head[offset:]
    name = ", ".join(one.name for one in found)
    layer = Layer(name, len(rest) if body.is_kept else None)
    return replace(
        body,
        head=rest,
        layers=(*body.layers, layer),
        preface=f"{body.preface}{words}\n\n",
        coding=Coding(chain, 0),
    )
