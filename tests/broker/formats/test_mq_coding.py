"""Texts in every character set of IBM MQ, behind every kind of header."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.errors.mq_codes import Ccsid, Enc, Format
from broker.formats.mq import ccsids
from broker.formats.mq.chain import Header, read_chain
from broker.formats.mq.coding import coding_of, in_utf_8
from broker.formats.mq.folders import Element, Folder
from broker.formats.mq.layouts import LAYOUTS, Layout, PlainHeader
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.formats.mq.rfh2 import Rfh2
from broker.formats.text import read, text_of

FORMATS = (*LAYOUTS, Format.RF_HEADER_2, Format.DEAD_LETTER_HEADER)
ENCODINGS = st.sampled_from([Enc.NORMAL, Enc.REVERSED])
NUMBERS = st.sampled_from([n for n in ccsids.KNOWN if n != Ccsid.INHERIT])
OF_HEADERS = st.sampled_from([37, 500, 819, 850, 1047, 1140, 1208])
NAME = "ORDERS.1"  # in all character sets


def header(format_: str, following: tuple[str, int, int]) -> Header:
    """A header of a kind, which describes what follows."""
    next_format, encoding, ccsid = following
    fields = {"format": next_format, "encoding": encoding, "coded_char_set_id": ccsid}
    if format_ == Format.RF_HEADER_2:
        return Rfh2(**fields, folders=(Folder.of("usr", Element("a", "ß")),))  # type: ignore[arg-type]
    if format_ == Format.DEAD_LETTER_HEADER:
        return DeadLetterHeader(**fields, dest_q_name=NAME, reason=2053)  # type: ignore[arg-type]
    layout = LAYOUTS[format_]
    values = tuple(value_of(kind) for _, kind in layout.fields)
    return PlainHeader(layout=layout, version=1, flags=0, values=values, **fields)  # type: ignore[arg-type]


def value_of(kind: str) -> str | int | bytes:
    if kind == "i":
        return 7
    width = int(kind[:-1])
    return NAME[:width] if kind.endswith("t") else bytes(range(width))


def chained(
    formats: list[str], parts: list[tuple[int, int]], text: str
) -> tuple[dict[str, object], bytes, list[Header]]:
    """A descriptor, and the bytes of headers and text; ``parts`` are encoding and CCSID
    of each, the text's last."""
    names = [*formats, Format.STRING]
    begins = {"encoding": int(parts[0][0]), "coded_char_set_id": int(parts[0][1])}
    descriptor: dict[str, object] = {"format": str(names[0]), **begins}
    headers = [
        header(one, (str(names[n + 1]), *parts[n + 1])) for n, one in enumerate(formats)
    ]
    raw = b"".join(
        one.to_bytes(*part) for one, part in zip(headers, parts, strict=False)
    )
    encoding, ccsid = parts[-1]
    return descriptor, raw + text.encode(ccsids.codec_of(ccsid, encoding)), headers


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    formats=st.lists(st.sampled_from(FORMATS), max_size=3),
    own=st.tuples(ENCODINGS, NUMBERS),
    before=st.lists(st.tuples(ENCODINGS, OF_HEADERS), min_size=3, max_size=3),
    text=st.text("Hello, 17\n", min_size=1),
    apart=st.booleans(),
)
def test_a_text_is_read_repaired_and_written_in_its_own_character_set(
    formats: list[str],
    own: tuple[int, int],
    before: list[tuple[int, int]],
    text: str,
    apart: bool,
) -> None:
    descriptor, raw, headers = chained(formats, [*before[: len(formats)], own], text)
    size = sum(one.size for one in headers) if apart else 0
    columns, body = raw[:size] or None, raw[size:]

    coding = coding_of(descriptor, "application/octet-stream", columns, body)
    assert coding is not None
    assert coding.chain.is_whole
    assert coding.chain.headers == tuple(headers)
    found = text_of(body, "application/octet-stream", coding)

    assert found.text == text
    assert read(body, "text/plain", coding) == text
    assert coding.beginning(body[coding.offset :]) == text
    assert found.written(text) == body
    repaired = found.written(text + "17")
    again = coding_of(descriptor, "application/octet-stream", columns, repaired)
    assert text_of(repaired, "application/octet-stream", again).text == text + "17"
    if apart:
        converted = in_utf_8(descriptor, "text/plain", columns)
        after = coding_of(converted[0], "text/plain", converted[1], text.encode())
        assert after is None or after.codec == "utf-8"
        assert len(converted[1] or b"") == size


@pytest.mark.parametrize("ccsid", [37, 273, 500, 1047, 1140, 1148])
def test_the_new_line_of_ebcdic_is_a_line_feed_and_no_byte_is_lost(ccsid: int) -> None:
    codec = ccsids.codec_of(ccsid)
    every = bytes(range(256))

    assert b"\x15".decode(codec) == "\n"
    assert "a\nb".encode(codec)[1:2] == b"\x15"
    assert every.decode(codec).encode(codec) == every


@pytest.mark.parametrize(
    ("ccsid", "text", "raw"),
    [
        (500, "Grün [1]", "c799dc95404af15a"),
        (1047, "[a]^", "ad81bd5f"),
        (1141, "€ ü", "9f40d0"),
        (943, "日本", "93fa967b"),
        (850, "é", "82"),
        (1252, "€", "80"),
        (13488, "€", "20ac"),
        (0, "€", "e282ac"),
        (-3, "€", "e282ac"),
    ],
)
def test_code_pages_are_those_of_ibm(ccsid: int, text: str, raw: str) -> None:
    assert text.encode(ccsids.codec_of(ccsid)).hex() == raw


@pytest.mark.parametrize(
    ("ccsid", "why"),
    [
        (1390, "nobody here knows the character set with CCSID 1390"),
        (-1, "named inside it"),
    ],
)
def test_an_unknown_character_set_is_named(ccsid: int, why: str) -> None:
    coding = coding_of({"coded_char_set_id": ccsid}, "text/plain", None)

    with pytest.raises(ValueError, match=why):
        text_of(b"\xc1", "text/plain", coding)


def test_a_character_that_is_not_in_the_character_set_is_named() -> None:
    coding = coding_of({"coded_char_set_id": 500}, "text/plain", None)
    found = text_of("abc".encode("cp500"), "text/plain", coding)

    with pytest.raises(ValueError, match=r"CCSID 500 has no character '€' \(U\+20AC\)"):
        found.written("abc €")


def test_a_character_set_in_the_content_type_counts_first_if_it_fits() -> None:
    coding = coding_of({"coded_char_set_id": 500}, "text/plain", None)
    declared = "text/plain; charset=utf-8"

    assert text_of("ü".encode(), declared, coding).text == "ü"
    assert text_of("ABC".encode("cp500"), declared, coding).text == "ABC"
    assert text_of("[".encode("cp1140"), "text/plain; charset=IBM1140").text == "["


def test_a_mark_counts_more_than_the_encoding() -> None:
    coding = coding_of({"coded_char_set_id": 1200}, "text/plain", None)
    body = b"\xff\xfea\0"

    found = text_of(body, "text/plain", coding)

    assert found.text == "a"
    assert found.written("b") == b"\xff\xfeb\0"


def test_a_header_may_be_in_ascii_although_the_part_before_says_otherwise() -> None:
    raw = header("MQDEAD", ("MQSTR", 273, 500)).to_bytes()

    chain = read_chain("MQDEAD", 273, 500, raw)

    assert chain.headers[0] == header("MQDEAD", ("MQSTR", 273, 500))
    assert chain.body.coded_char_set_id == 500


@given(raw=st.binary(max_size=250), ccsid=OF_HEADERS, format_=st.sampled_from(FORMATS))
def test_any_bytes_are_read_as_a_header_or_not_at_all(
    raw: bytes, ccsid: int, format_: str
) -> None:
    kind = LAYOUTS.get(format_)
    if kind is None:
        return
    codec = ccsids.codec_of(ccsid)
    begins = kind.struc_id.decode().encode(codec) + struct.pack(">ii", 1, 32 + len(raw))
    whole = begins + bytes(20) + raw

    (found,) = read_chain(format_, 273, ccsid, whole).headers

    assert found.to_bytes(273, ccsid) == whole
    assert found.size == len(whole)


def test_lengths_that_are_wrong_end_the_chain() -> None:
    kind: Layout = LAYOUTS["MQIMS"]
    good = header("MQIMS", ("MQSTR", 273, 1208))
    assert isinstance(good, PlainHeader)
    raw = replace(good, rest=b"more").to_bytes()
    assert kind.from_bytes(raw).rest == b"more"

    assert not read_chain("MQIMS", 273, 1208, raw[:-1]).is_whole
    assert not read_chain("MQIMS", 273, 1208, b"XXX " + raw[4:]).is_whole
