"""The rules and formatting header 2 (MQRFH2): names and values before a body."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from broker.errors.messages import MalformedFormat, MalformedHeader
from broker.errors.mq_codes import Ccsid, Enc
from broker.formats.mq import ccsids
from broker.formats.mq.fixed import (
    byte_order,
    codec_of,
    codec_of_header,
    padded,
    unpadded,
)
from broker.formats.mq.folders import Folder

SIZE = 36  # size of an MQRFH2 in bytes, without its folders
STRUC_ID, VERSION = b"RFH ", 2
LAYOUT = "4si i 2i8s ii"
MOST = 100  # most folders of one header


@dataclass(frozen=True, slots=True, kw_only=True)
class Rfh2:
    """A version 2 RFH. Its length is computed from its folders.

    Source:
        IBM MQ documentation, "MQRFH2 - Rules and formatting header 2".
    """

    name: ClassVar[str] = "MQRFH2"

    encoding: int  # This field and the next two describe the part after this header.
    coded_char_set_id: int
    format: str
    flags: int = 0
    name_value_ccsid: int = Ccsid.UTF_8  # character set of the folders
    folders: tuple[Folder, ...] = ()

    @property
    def size(self) -> int:
        """StrucLength: the length of the whole header, in bytes."""
        return len(self.to_bytes())

    def to_bytes(self, encoding: int = Enc.NORMAL, ccsid: int = Ccsid.UTF_8) -> bytes:
        """The header, its integers and UTF-16 in the byte order of ``encoding``, its
        format in the character set ``ccsid``."""
        order, codec = byte_order(encoding), codec_of(ccsid)
        of_folders = ccsids.codec_of(self.name_value_ccsid, encoding)
        texts = [in_fours(folder.text, of_folders) for folder in self.folders]
        variable = b"".join(struct.pack(f"{order}i", len(t)) + t for t in texts)
        fixed = struct.pack(
            order + LAYOUT,
            *(padded(STRUC_ID.decode(), 4, codec), VERSION, SIZE + len(variable)),
            *(self.encoding, self.coded_char_set_id, padded(self.format, 8, codec)),
            *(self.flags, self.name_value_ccsid),
        )
        return fixed + variable

    @classmethod
    def from_bytes(
        cls, raw: bytes, encoding: int = Enc.NORMAL, ccsid: int = Ccsid.UTF_8
    ) -> Self:
        """Read the header at the beginning of ``raw``.

        Args:
            raw: from the first byte of the header.
            encoding: from the part before, the MQMD or another header.
            ccsid: likewise; of the format. The folders' is in the header.

        Raises:
            MalformedHeader: it is not a version 2 RFH, or its lengths are wrong.
            MalformedFormat: a folder cannot be read.
        """
        if len(raw) < SIZE:
            raise malformed(f"it has {len(raw)} of at least {SIZE} bytes", len(raw))
        order = byte_order(encoding)
        struc_id, version, length, *others = struct.unpack_from(order + LAYOUT, raw)
        following, next_ccsid, format_, flags, names_ccsid = others
        if (codec := codec_of_header(struc_id, STRUC_ID, ccsid)) is None:
            raise malformed("it does not begin with 'RFH '", 0)
        if version != VERSION:
            raise malformed(f"its version is {version}, not 2", 4)
        if length % 4 or not SIZE <= length <= len(raw):
            raise malformed(f"its length is {length}, of {len(raw)} bytes", 8)
        if names_ccsid not in (Ccsid.UTF_8, *ccsids.UTF_16):  # IBM MQ allows only these
            raise malformed(f"its folders are in CCSID {names_ccsid}", 32)
        of_folders = ccsids.codec_of(names_ccsid, encoding)
        return cls(
            encoding=following,
            coded_char_set_id=next_ccsid,
            format=unpadded(format_, codec),
            flags=flags,
            name_value_ccsid=names_ccsid,
            folders=tuple(read_folders(raw[:length], order, of_folders)),
        )


def read_folders(raw: bytes, order: str, codec: str) -> Iterator[Folder]:
    """The folders after the fixed part of a header; ``raw`` is the whole header."""
    start = SIZE
    for _ in range(MOST):
        if start == len(raw):
            return
        (length,) = struct.unpack_from(f"{order}i", raw, start)
        first = start + 4
        if length % 4 or not 0 < length <= len(raw) - first:
            raise malformed(f"a folder's length is {length}", start)
        yield read_folder(raw[first : first + length], codec, first)
        start = first + length
    if start < len(raw):
        raise malformed(f"it has more than {MOST} folders", start)


def read_folder(raw: bytes, codec: str, first: int) -> Folder:
    """One folder, whose text begins at byte ``first`` of its header."""
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError as wrong:
        why = f"a folder is not {ccsids.label(codec)}: {wrong.reason}"
        raise MalformedFormat("MQRFH2", why, first + wrong.start) from None
    try:
        return Folder.parse(text)
    except MalformedFormat as wrong:
        passed = len(text[: wrong.offset].encode(codec))
        raise MalformedFormat("MQRFH2", wrong.why, first + passed) from None


def in_fours(text: str, codec: str) -> bytes:
    """The text as bytes, padded with blanks to a multiple of four."""
    raw, blank = text.encode(codec), " ".encode(codec)
    return raw + blank * (-len(raw) % 4 // len(blank))


def malformed(why: str, offset: int) -> MalformedHeader:
    return MalformedHeader("MQRFH2", why, offset)
