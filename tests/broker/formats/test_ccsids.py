"""The table of character sets has each codec of Python that IBM has a number for."""

from __future__ import annotations

import codecs
import encodings
import pkgutil
import re
from collections.abc import Iterator

import pytest

from broker.formats.mq import ccsids

NO_NUMBER = "IBM has no number for it"
UNICODE = "Unicode; its numbers are those of UTF-8, UTF-16 and UTF-32"
ESCAPES = "text within text, such as a host's name or a literal"
NAMED_BY_ANOTHER = "the same characters, and more, have a codec that the table names"
WITHOUT: dict[str, str] = {
    **dict.fromkeys(("utf-7", "utf-8-sig"), UNICODE),
    **dict.fromkeys(("utf-16", "utf-16-be", "utf-16-le"), UNICODE),
    **dict.fromkeys(("utf-32", "utf-32-be", "utf-32-le"), UNICODE),
    **dict.fromkeys(("idna", "punycode"), ESCAPES),
    **dict.fromkeys(("raw-unicode-escape", "unicode-escape"), ESCAPES),
    "charmap": "any table; the caller gives it",
    "undefined": "none; it refuses each text",
    **dict.fromkeys(("big5", "shift_jis", "iso8859-11", "tis-620"), NAMED_BY_ANOTHER),
    **dict.fromkeys(("iso8859-14", "iso8859-16"), NO_NUMBER),
    **dict.fromkeys(("koi8-t", "kz1048", "ptcp154", "palmos"), NO_NUMBER),
    **dict.fromkeys(("mac-arabic", "mac-farsi"), NO_NUMBER),
    **dict.fromkeys(("euc_jis_2004", "shift_jis_2004", "iso2022_jp_2004"), NO_NUMBER),
    **dict.fromkeys(("euc_jisx0213", "shift_jisx0213"), NO_NUMBER),
    **dict.fromkeys(("iso2022_jp_1", "iso2022_jp_2", "iso2022_jp_3"), NO_NUMBER),
    **dict.fromkeys(("iso2022_jp_ext", "hz"), NO_NUMBER),
    "johab": "code page 1361 is Microsoft's; IBM's Korean numbers are 949 and 1363",
}
ONLY_ON_WINDOWS = {"mbcs", "oem"}


def texts() -> Iterator[str]:
    """The names of all codecs of Python from bytes to text."""
    of_aliases = set(encodings.aliases.aliases.values())
    of_modules = {one.name for one in pkgutil.iter_modules(encodings.__path__)}
    for name in sorted((of_aliases | of_modules) - ONLY_ON_WINDOWS - {"aliases"}):
        try:
            found = codecs.lookup(name)
        except LookupError:  # a module that is none, or not of this system
            continue
        if found._is_text_encoding:
            yield found.name


CODECS = sorted(set(texts()))


@pytest.mark.parametrize("name", CODECS)
def test_each_codec_of_python_has_its_number_or_a_reason(name: str) -> None:
    number = re.fullmatch(r"cp(\d+)", name)
    is_of_host = number is not None and int(number[1]) in ccsids.EBCDIC  # own tables
    has_number = is_of_host or ccsids.ccsid_of(name) is not None

    assert has_number != (name in WITHOUT), WITHOUT.get(name)


def test_each_reason_is_of_a_codec() -> None:
    assert set(WITHOUT) <= set(CODECS)


@pytest.mark.parametrize(
    ("ccsid", "text", "raw"),
    [
        (1125, "Ґґ", "f2f3"),
        (1284, "Čč", "c8e8"),
        (1285, "Șș", "afbf"),
        (958, "a日本", "611b2442467c4b5c1b2842"),
        (5054, "a日本", "611b2442467c4b5c1b2842"),
        (25546, "한", "1b2429430e47510f"),
    ],
)
def test_their_characters_are_those_of_ibm(ccsid: int, text: str, raw: str) -> None:
    codec = ccsids.codec_of(ccsid)

    assert text.encode(codec).hex() == raw
    assert bytes.fromhex(raw).decode(codec) == text


@pytest.mark.parametrize("ccsid", [956, 957, 959, 5052, 5053, 5055])
def test_what_begins_otherwise_than_python_does_has_no_codec(ccsid: int) -> None:
    """A backslash would be read as one where it is a yen sign, or kanji be written in
    the set of 1983 where those of 1978 are named."""
    with pytest.raises(ValueError, match=f"CCSID {ccsid}"):
        ccsids.codec_of(ccsid)
