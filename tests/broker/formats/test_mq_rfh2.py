"""The RFH2 and its folders, byte for byte, and what they refuse."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors.messages import MalformedFormat, MalformedHeader
from broker.errors.mq_codes import Enc
from broker.formats.mq.folders import DEEPEST, LONGEST, MOST, Element, Folder
from broker.formats.mq.rfh2 import MOST as MOST_FOLDERS
from broker.formats.mq.rfh2 import Rfh2
from tests.broker.headers_drawn import (
    BYTE_ORDERS,
    FOLDERS,
    PROPERTIES,
    RFH2S,
    TEN_THOUSAND,
)

# Source: IBM MQ documentation, "MQRFH2 - Rules and formatting header 2" (its fields,
# NameValueLength and NameValueData), "The MQRFH2 header and JMS" (the folders mcd, jms
# and usr), "Mapping property data types to MQRFH2 data types" (dt, xsi:nil).
EXAMPLE = Rfh2(
    encoding=546,
    coded_char_set_id=850,
    format="MQSTR",
    folders=(
        Folder.of("mcd", Element("Msd", "jms_text")),
        Folder.of("usr", Element("n", 17, "i4"), Element("s", "a&b")),
    ),
)
BIG_ENDIAN = (
    b"RFH "  # offset 0: StrucId
    b"\x00\x00\x00\x02"  # 4: Version
    b"\x00\x00\x00\x78"  # 8: StrucLength, 120 = 36 + 4 + 32 + 4 + 44
    b"\x00\x00\x02\x22"  # 12: Encoding of the body
    b"\x00\x00\x03\x52"  # 16: CodedCharSetId of the body
    b"MQSTR   "  # 20: Format of the body
    b"\x00\x00\x00\x00"  # 28: Flags
    b"\x00\x00\x04\xb8"  # 32: NameValueCCSID, 1208
    b"\x00\x00\x00\x20"  # 36: NameValueLength, 32
    b"<mcd><Msd>jms_text</Msd></mcd>  "  # 40: NameValueData, 30 and two blanks
    b"\x00\x00\x00\x2c"  # 72: NameValueLength, 44
    b'<usr><n dt="i4">17</n><s>a&amp;b</s></usr>  '  # 76: NameValueData, 42 and two
)
LITTLE_ENDIAN = (
    b"RFH \x02\x00\x00\x00\x78\x00\x00\x00\x22\x02\x00\x00\x52\x03\x00\x00MQSTR   "
    b"\x00\x00\x00\x00\xb8\x04\x00\x00\x20\x00\x00\x00"
    + BIG_ENDIAN[40:72]
    + b"\x2c\x00\x00\x00"
    + BIG_ENDIAN[76:]
)


def make_header(*texts: str | bytes, codec: str = "utf-8") -> bytes:
    """A big-endian header of folders with these texts, however wrong they are."""
    raws = [text.encode(codec) if isinstance(text, str) else text for text in texts]
    blank = " ".encode(codec)
    padded = [raw + blank * (-len(raw) % 4 // len(blank)) for raw in raws]
    folders = b"".join(struct.pack(">i", len(raw)) + raw for raw in padded)
    ccsid = 1208 if codec == "utf-8" else 1200
    values = (b"RFH ", 2, 36 + len(folders), 273, 1208, b"MQSTR   ", 0, ccsid)
    return struct.pack(">4siiii8sii", *values) + folders


@pytest.mark.spec("POISON-13", "UNIFY-6")
@pytest.mark.parametrize(
    ("encoding", "raw"), [(Enc.NORMAL, BIG_ENDIAN), (Enc.REVERSED, LITTLE_ENDIAN)]
)
def test_the_worked_example_has_these_bytes(encoding: int, raw: bytes) -> None:
    assert EXAMPLE.to_bytes(encoding) == raw
    assert EXAMPLE.size == len(raw) == 120

    read = Rfh2.from_bytes(raw + b"body", encoding)

    assert read.to_bytes(encoding) == raw
    assert [folder.root for folder in read.folders] == [
        folder.root for folder in EXAMPLE.folders
    ]


@pytest.mark.spec("UNIFY-6")
@pytest.mark.parametrize("ccsid", [1200, 13488, 17584])
def test_folders_in_utf_16_are_in_the_byte_order_of_the_numbers(ccsid: int) -> None:
    header = Rfh2(
        encoding=273,
        coded_char_set_id=1208,
        format="",
        name_value_ccsid=ccsid,
        folders=(Folder.of("usr", Element("s", "ö")),),
    )

    big, little = header.to_bytes(Enc.NORMAL), header.to_bytes(Enc.REVERSED)

    assert big[36:48] == b"\x00\x00\x00\x28\x00<\x00u\x00s\x00r"
    assert little[36:48] == b"\x28\x00\x00\x00<\x00u\x00s\x00r\x00"
    assert big[-8:] == b"\x00s\x00r\x00>\x00 "
    assert Rfh2.from_bytes(little, Enc.REVERSED).folders[0].root.value == (
        Element("s", "ö"),
    )


@pytest.mark.thorough
@pytest.mark.spec("UNIFY-6")
@TEN_THOUSAND
@given(RFH2S)
def test_what_was_written_is_read_in_both_byte_orders(header: Rfh2) -> None:
    for encoding in BYTE_ORDERS:
        raw = header.to_bytes(encoding)
        read = Rfh2.from_bytes(raw + b"body", encoding)

        assert len(raw) == read.size
        assert len(raw) % 4 == 0
        assert read.to_bytes(encoding) == raw
        assert repr([one.root for one in read.folders]) == repr(
            [one.root for one in header.folders]
        )


@pytest.mark.spec("UNIFY-6")
@pytest.mark.parametrize(
    "text",
    [
        "<usr   ><a  dt='i4' >007</a ></usr>",
        "<usr><a/><b></b>\n\t<c>&#65;&lt;<![CDATA[<&>]]></c></usr>\r\n",
        "<mq_usr content='properties'><g><h><a>1</a></h></g></mq_usr>",
        "<mcd><msgbody xsi:nil='true'/><x:y xmlns:x='urn:x'>1</x:y></mcd>",
        "<usr/>",
    ],
)
def test_a_header_that_nobody_changed_has_its_bytes_again(text: str) -> None:
    raw = make_header(text)
    assert Rfh2.from_bytes(raw).to_bytes() == raw


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<a>x  </a>", "x  "),
        ("<a>&lt;&amp;&gt;&quot;&apos;</a>", "<&>\"'"),
        ("<a></a>", ""),
        ("<a dt='string'>1</a>", "1"),
        ("<a dt='boolean'>1</a>", True),
        ("<a dt='boolean'>false</a>", False),
        ("<a dt='bin.hex'>00Ff</a>", b"\x00\xff"),
        ("<a dt='i1'>-128</a>", -128),
        ("<a dt='i2'>32767</a>", 32767),
        ("<a dt='i4'>-2147483648</a>", -(2**31)),
        ("<a dt='i8'>9223372036854775807</a>", 2**63 - 1),
        ("<a dt='int'>+7</a>", 7),
        ("<a dt='r4'>1.5</a>", 1.5),
        ("<a dt='r8'>-1.0E300</a>", -1e300),
        ("<a dt='r8'>INF</a>", float("inf")),
        ("<a dt='r4'>NaN</a>", float("nan")),
        ("<a dt='i4' xsi:nil='true'></a>", None),
        ("<a><b>1</b><b>2</b></a>", (Element("b", "1"), Element("b", "2"))),
    ],
)
def test_a_value_has_the_type_that_its_dt_says(text: str, value: Any) -> None:
    assert repr(value_of(text)) == repr(value)


def value_of(text: str) -> Any:
    """The value of the one property in a folder."""
    elements: Any = Folder.parse(f"<usr>{text}</usr>").root.value
    (element,) = elements
    return element.value


@pytest.mark.spec("MD-6")
@pytest.mark.parametrize(
    "text",
    [
        "    ",
        "usr",
        "<usr>",
        "<usr></mcd>",
        "<usr></usr><jms></jms>",
        "<usr></usr>x",
        "<usr>x</usr>",
        "<usr><a>x<b>1</b></a></usr>",
        "<usr><a>\0</a></usr>",
        "<usr><a>&nbsp;</a></usr>",
        "<usr><a dt='i4'>x</a></usr>",
        "<usr><a dt='i4'> 1</a></usr>",
        "<usr><a dt='i4'>1_0</a></usr>",
        "<usr><a dt='i4'>\N{ARABIC-INDIC DIGIT ONE}</a></usr>",
        "<usr><a dt='i1'>128</a></usr>",
        "<usr><a dt='i2'>-32769</a></usr>",
        "<usr><a dt='i4'>2147483648</a></usr>",
        "<usr><a dt='i8'>9223372036854775808</a></usr>",
        "<usr><a dt='i8'>" + "9" * 5000 + "</a></usr>",
        "<usr><a dt='r4'>1e39</a></usr>",
        "<usr><a dt='r8'>1e309</a></usr>",
        "<usr><a dt='r8'>1.2.3</a></usr>",
        "<usr><a dt='boolean'>yes</a></usr>",
        "<usr><a dt='bin.hex'>abc</a></usr>",
        "<usr><a dt='date'>2026</a></usr>",
        "<!DOCTYPE usr><usr></usr>",
        "<!DOCTYPE u [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><u><x>&b;</x></u>",
        "<!DOCTYPE u [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><u><x>&a;</x></u>",
        b"<usr><a>\xff</a></usr>",
        b"<usr><a>\xed\xa0\x80</a></usr>",
        "<a>" * (DEEPEST + 1) + "</a>" * (DEEPEST + 1),
        "<usr>" + "<a/>" * MOST + "</usr>",
        "<usr><a>" + "x" * LONGEST + "</a></usr>",
    ],
)
def test_a_folder_that_breaks_the_rules_is_refused_with_2421(text: str | bytes) -> None:
    raw = make_header("<mcd></mcd>", text)

    with pytest.raises(MalformedFormat) as refused:
        Rfh2.from_bytes(raw)

    assert refused.value.reason == 2421
    assert 36 + 4 + 12 <= refused.value.offset <= len(raw)
    assert len(str(refused.value)) < 300


def test_folders_as_deep_and_wide_as_may_be_are_read() -> None:
    deep = "<a>" * DEEPEST + "</a>" * DEEPEST
    wide = "<usr>" + "<a/>" * (MOST - 1) + "</usr>"
    long = "<usr><a>" + "x" * (LONGEST - 23) + "</a></usr>"
    assert len(Rfh2.from_bytes(make_header(deep, wide, long)).folders) == 3


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-be"])
@pytest.mark.parametrize("blank", [" ", "\n", "\r", "\r\n"])
def test_a_fault_is_where_its_byte_is(codec: str, blank: str) -> None:
    text = f"<usr>{blank}<ö>1</ö>{blank}<a>1</b></usr>"
    passed = text.partition("b>")[0].encode(codec)

    with pytest.raises(MalformedFormat) as refused:
        Rfh2.from_bytes(make_header("<a/>", text, codec=codec))

    first = 36 + 4 + len("<a/>".encode(codec)) + 4
    assert refused.value.offset == first + len(passed)


@pytest.mark.spec("MD-6")
@pytest.mark.parametrize(
    ("raw", "offset"),
    [
        (b"", 0),
        (BIG_ENDIAN[:35], 35),
        (b"RHF " + BIG_ENDIAN[4:], 0),
        (LITTLE_ENDIAN, 4),
        (BIG_ENDIAN[:-1], 8),
        (BIG_ENDIAN[:8] + b"\x00\x00\x00\x20" + BIG_ENDIAN[12:], 8),
        (BIG_ENDIAN[:8] + b"\x00\x00\x00\x77" + BIG_ENDIAN[12:], 8),
        (BIG_ENDIAN[:8] + b"\xff\xff\xff\x78" + BIG_ENDIAN[12:], 8),
        (BIG_ENDIAN[:32] + b"\x00\x00\x03\x52" + BIG_ENDIAN[36:], 32),
        (BIG_ENDIAN[:36] + b"\x00\x00\x00\x00" + BIG_ENDIAN[40:], 36),
        (BIG_ENDIAN[:36] + b"\x00\x00\x00\x1e" + BIG_ENDIAN[40:], 36),
        (BIG_ENDIAN[:36] + b"\xff\xff\xff\xfc" + BIG_ENDIAN[40:], 36),
        (BIG_ENDIAN[:72] + b"\x7f\xff\xff\xfc" + BIG_ENDIAN[76:], 72),
        (make_header(*["<a/>"] * (MOST_FOLDERS + 1)), 36 + 8 * MOST_FOLDERS),
    ],
)
def test_what_is_no_header_is_refused_with_2334_and_the_place(
    raw: bytes, offset: int
) -> None:
    with pytest.raises(MalformedHeader) as refused:
        Rfh2.from_bytes(raw)

    assert refused.value.offset == offset
    assert refused.value.reason == 2334


@pytest.mark.parametrize(
    "element",
    [
        Element("two words", "x"),
        Element("a><b", "x"),
        Element("a x='1'", "x"),
        Element("a", 5),
        Element("", "x"),
        Element("a", "\x01"),
        Element("a", "\ud800"),
        Element("a", 2**31, "i4"),
        Element("a", "x", "i4'"),
        Element("a", "x", "date"),
    ],
)
def test_what_no_folder_can_hold_is_not_written(element: Element) -> None:
    with pytest.raises(ValueError, match=r"."):
        Folder.of("usr", element)


def test_ends_of_lines_are_kept_as_they_are() -> None:
    text = "a\rb\nc\r\nd\te"
    assert Folder.of("usr", Element("a", text)).root.value == (Element("a", text),)


@given(PROPERTIES)
def test_a_property_is_the_same_in_any_folder(element: Element) -> None:
    one, other = Folder.of("usr", element), Folder.of("mq_usr", element)
    assert repr(one.root.value) == repr(other.root.value) == repr((element,))


@given(FOLDERS, st.integers(0, 50))
def test_blanks_behind_a_folder_mean_nothing(folder: Folder, blanks: int) -> None:
    read = Folder.parse(folder.text + " " * blanks)
    assert repr(read.root) == repr(folder.root)
