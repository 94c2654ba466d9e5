"""Character sets by number (CCSID), as descriptors and headers of IBM MQ name them.

Python's codecs are used; those of the package ``ebcdic``, where Python has none.

Source:
    IBM, "Character Data Representation Architecture", CCSID repository; IBM MQ
    documentation, "CodedCharSetId (MQLONG)" and "Using Unicode".
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import ebcdic

from broker.errors.mq_codes import Ccsid, Enc

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

PREFIX = "ccsid_"  # prefix of the names of this module's codecs
NEW_LINE, LINE_FEED = 0x15, 0x25
MISSING = "\ufffe"  # marks a byte in a codec's table that is no character

# Numbers that do not name a character set; the broker takes UTF-8 for them.
OWN = (Ccsid.Q_MGR, Ccsid.INHERIT, Ccsid.APPL)
# Character sets in the byte order of the message's numbers (MQENC).
UTF_16 = (1200, 1201, 1202, 1203, 1204, 1205, 13488, 17584, 21680, 25776, 61952)
UTF_32 = (1232, 1233, 1234, 1235, 1236, 1237)
EBCDIC = (
    *(37, 273, 277, 278, 280, 284, 285, 290, 297, 420, 424, 500, 833, 838, 870, 871),
    *(875, 1025, 1026, 1047, 1097, 1112, 1122, 1123, *range(1140, 1150)),
)
# The number of the code page is in the name of Python's codec.
SAME = (
    *(437, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 864, 865),
    *(866, 869, 874, 949, 950, 1006, 1125, *range(1250, 1259)),
)
NAMED: Mapping[int, str] = {
    367: "ascii",
    819: "iso8859-1",
    **{910 + part: f"iso8859-{part}" for part in (2, 3, 4, 5)},
    1089: "iso8859-6",
    **dict.fromkeys((813, 4909, 9005), "iso8859-7"),
    **dict.fromkeys((916, 5012), "iso8859-8"),
    920: "iso8859-9",
    919: "iso8859-10",
    921: "iso8859-13",
    923: "iso8859-15",
    878: "koi8-r",
    1168: "koi8-u",
    1051: "hp-roman8",
    1162: "cp874",
    # Versions of the code pages with the euro sign.
    **{5346 + part: f"cp{1250 + part}" for part in (0, 1, 2, 3, 4, 8)},
    **{9442 + part: f"cp{1250 + part}" for part in (5, 6, 7)},
    **dict.fromkeys((932, 943), "cp932"),
    **dict.fromkeys((954, 5050, 33722), "euc_jp"),
    **dict.fromkeys((936, 1386), "gbk"),
    **dict.fromkeys((1381, 1383), "gb2312"),
    **dict.fromkeys((1392, 5488), "gb18030"),
    970: "euc_kr",
    1363: "cp949",
    # Only the numbers that agree with Python's codec: texts begin in ASCII, and have
    # the kanji of 1983. 956, 957, 5052 and 5053 have a yen sign for the backslash; 959
    # and 5055 have the kanji of 1978.
    **dict.fromkeys((958, 5054), "iso-2022-jp"),
    25546: "iso-2022-kr",
    1370: "cp950",
    **dict.fromkeys((1375, 5471), "big5hkscs"),
    **dict.fromkeys((1208, 1209), "utf-8"),
    1275: "mac-roman",
    1280: "mac-greek",
    1281: "mac-turkish",
    1282: "mac-latin2",
    1283: "mac-cyrillic",
    1284: "mac-croatian",
    1285: "mac-romanian",
    1286: "mac-iceland",
}
CODECS: Mapping[int, str] = {
    **dict.fromkeys(OWN, "utf-8"),
    **{number: f"cp{number}" for number in SAME},
    **NAMED,
    **{number: f"{PREFIX}{number}" for number in EBCDIC},
}
KNOWN = (*CODECS, *UTF_16, *UTF_32)


def codec_of(ccsid: int, encoding: int = Enc.NORMAL) -> str:
    """The name of the codec for a character set.

    Args:
        ccsid: its number.
        encoding: of the numbers beside the text; UTF-16 and UTF-32 have their byte
            order.

    Raises:
        ValueError: there is no codec; the reason is the end of a sentence.
    """
    order = "le" if encoding & Enc.INTEGER_MASK == Enc.INTEGER_REVERSED else "be"
    if ccsid in UTF_16:
        return f"utf-16-{order}"
    if ccsid in UTF_32:
        return f"utf-32-{order}"
    if ccsid == Ccsid.EMBEDDED:
        raise ValueError("its character sets are named inside it (CCSID -1)")
    if (found := CODECS.get(ccsid)) is None:
        raise ValueError(f"nobody here knows the character set with CCSID {ccsid}")
    return found


@cache
def ccsid_of(codec: str) -> int | None:
    """The number of the character set of a codec; None if IBM MQ has none for it."""
    name = codecs.lookup(codec).name
    return next((n for n, one in CODECS.items() if n > 0 and is_same(one, name)), None)


def is_same(codec: str, name: str) -> bool:
    return codecs.lookup(codec).name == name


def label(codec: str) -> str:
    """The name of a codec, for people."""
    number = codec.removeprefix(PREFIX)
    return codec if number == codec else f"CCSID {number}"


def charset(codec: str) -> str:
    """The name of a codec in content types, which Java knows, too."""
    number = codec.removeprefix(PREFIX)
    if number != codec or re.fullmatch(r"cp[78]\d\d", codec):
        return f"IBM{number.removeprefix('cp').zfill(3)}"
    return re.sub("^cp125", "windows-125", codec)


@cache
def table_of(number: int) -> str:
    """The characters of a code page of EBCDIC, by byte.

    As in Java and in the conversion of queue managers, the new line of EBCDIC is the
    line feed of others. To lose no byte, EBCDIC's line feed becomes NEL in return.
    """
    name = f"cp{number:03}"
    try:
        codecs.lookup(name)
    except LookupError:
        ebcdic.lookup(name)
    table = list(bytes(range(256)).decode(name, "replace").replace("\ufffd", MISSING))
    table[NEW_LINE], table[LINE_FEED] = "\n", "\x85"
    return "".join(table)


def find(name: str) -> codecs.CodecInfo | None:
    """The codec of this module with this name, for ``codecs.register``."""
    number = name.removeprefix(PREFIX)
    if number == name or not number.isdecimal() or int(number) not in EBCDIC:
        return None
    table = table_of(int(number))
    back = codecs.charmap_build(table)

    class Decoder(codecs.IncrementalDecoder):
        def decode(self, raw: Buffer, final: bool = False) -> str:  # noqa: FBT001, FBT002
            return codecs.charmap_decode(bytes(raw), self.errors, table)[0]

    return codecs.CodecInfo(
        name=name,
        encode=lambda text, errors="strict": codecs.charmap_encode(text, errors, back),
        decode=lambda raw, errors="strict": codecs.charmap_decode(raw, errors, table),
        incrementaldecoder=Decoder,
    )


codecs.register(find)
