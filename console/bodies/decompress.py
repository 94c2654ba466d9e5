"""Decompress and decode bodies: gzip, zlib, base64.

Time and memory are bounded, whatever the input claims: only the beginning of the output
is kept, and counting stops at a limit.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext

from broker.formats.quantities import write_count

KEPT = 2**20  # bytes of output that are kept
COUNTED = 32 * 2**20  # output is counted up to so many bytes
RATIO = 250  # output bytes per input byte; beyond this ratio, output stops at ``KEPT``
MEMBERS = 16  # members decompressed of a gzip file
CHUNK = 64 * 2**10  # output bytes per step
SLICE = 2**10  # input bytes per step; damage loses at most this many

GZIP = b"\x1f\x8b\x08"
BASE64 = re.compile(rb"[A-Za-z0-9+/_-]+={0,2}")
SHORTEST_BASE64 = 24  # shorter texts are often accidentally valid


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The result of decompressing a body."""

    name: str  # the name of the encoding
    head: bytes
    size: int  # the number of bytes that were counted
    is_whole: bool  # whether ``size`` counts the whole output
    notice: str = ""  # why output is missing
    is_broken: bool = False  # the input is damaged or truncated

    @property
    def is_complete(self) -> bool:
        """Whether ``head`` is the whole output."""
        return self.is_whole and self.size == len(self.head)


Unpacker = Callable[[bytes], Unpacked]


def gzip(packed: bytes) -> Unpacked:
    """Decompress a gzip file of one or a few members.

    Raises:
        ValueError: it is not one.
    """
    return inflated("gzip", packed, 31)


def deflated(packed: bytes) -> Unpacked:
    """Decompress zlib data, with its header or, as some senders have it, raw.

    Raises:
        ValueError: not valid.
    """
    try:
        return inflated("zlib", packed, 15)
    except ValueError:
        return inflated("deflate", packed, -15)


def zlibbed(packed: bytes) -> Unpacked:
    """Decompress zlib data with its header.

    Raises:
        ValueError: not valid.
    """
    return inflated("zlib", packed, 15)


def inflated(name: str, packed: bytes, form: int) -> Unpacked:
    """Raises:
    ValueError: the input gives no output.
    """
    most = min(COUNTED, max(KEPT, RATIO * len(packed)))
    head, size, notice, is_whole, is_broken = bytearray(), 0, "", False, False
    try:
        for part in chunks(packed, form):
            head += part[: KEPT - len(head)]
            size += len(part)
            if size >= most:
                break
        else:
            is_whole = True
    except zlib.error as error:
        if not size:
            raise ValueError(f"it is no {name} ({error})") from None
        notice = gettext(
            "What is packed with %(name)s is damaged after %(n)s bytes."
        ) % {"name": name, "n": write_count(size)}
        is_broken = True
    except EOFError:
        if not size:
            raise ValueError(f"it is no {name}, or only the beginning") from None
        notice = gettext("What is packed with %(name)s ends too early.")
        notice, is_broken = notice % {"name": name}, True
    if size >= most and most < COUNTED:
        notice = gettext(
            "It grows more than %(n)s times: it is unpacked no further."
        ) % {"n": RATIO}
    return Unpacked(name, bytes(head), size, is_whole, notice, is_broken)


def chunks(packed: bytes, form: int) -> Iterator[bytes]:
    """The output, ``CHUNK`` bytes at a time.

    Raises:
        zlib.error: the input is damaged from here on.
        EOFError: the end of the input is missing.
    """
    at = 0
    for _ in range(MEMBERS):
        member = zlib.decompressobj(form)
        while not member.eof:
            part = packed[at : at + SLICE]
            at += len(part)
            out = member.decompress(part, CHUNK)
            if not out and not part:
                raise EOFError
            while out:
                yield out
                out = member.decompress(member.unconsumed_tail, CHUNK)
        at -= len(member.unused_data)
        if not packed.startswith(GZIP, at):
            return


def from_base64(packed: bytes) -> Unpacked:
    """Decode base64, with or without line breaks, in either alphabet.

    Raises:
        ValueError: the text is not base64.
    """
    letters = b"".join(packed.split())
    if not BASE64.fullmatch(letters):
        raise ValueError("it has other characters than base64")
    plain = letters.replace(b"-", b"+").replace(b"_", b"/").rstrip(b"=")
    try:
        body = base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    return Unpacked("base64", body, len(body), is_whole=True)


PACKINGS: Mapping[str, Unpacker] = {  # decoders by their name in URLs
    "gzip": gzip,
    "zlib": zlibbed,
    "base64": from_base64,
}
ENCODINGS: Mapping[str, Unpacker] = {  # decoders by content encoding
    "gzip": gzip,
    "x-gzip": gzip,
    "deflate": deflated,
    "zlib": deflated,
    "base64": from_base64,
    "application/gzip": gzip,
    "application/x-gzip": gzip,
    "application/zlib": deflated,
}


def looks_packed(body: bytes) -> Unpacker | None:
    """The encoding that the first bytes suggest."""
    if body.startswith(GZIP):
        return gzip
    if len(body) < 3 or body[0] & 0x8F != 8:
        return None
    return None if (body[0] << 8 | body[1]) % 31 else zlibbed


def looks_like_base64(body: bytes) -> bool:
    """Whether a body is likely base64 rather than a word or a number."""
    letters = b"".join(body.split())
    return (
        len(letters) >= SHORTEST_BASE64
        and not len(letters) % 4
        and BASE64.fullmatch(letters) is not None
        and not letters.isdigit()
    )
