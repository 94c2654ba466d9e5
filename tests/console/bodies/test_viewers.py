"""Bodies as people see them: laid out where possible, whole and harmless always."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.html import escape
from hypothesis import example, given
from hypothesis import strategies as st

from console.bodies import viewers
from console.bodies.viewers import (
    LAID_OUT,
    LINES,
    SHOWN,
    VIEWERS,
    BodyView,
    show,
    shows,
)
from console.templatetags.console_hostile import printable

REAL_MESSAGES = settings.BASE_DIR.parent / "shared" / "data"
HL7 = "x-application/hl7-v2+er7"


def whole(body: bytes, content_type: str = "") -> BodyView:
    return show(body[:LAID_OUT], len(body), content_type)


def test_json_keeps_its_order_its_doubles_and_its_digits() -> None:
    body = b'{"b":1.00,"a":[12345678901234567890123,1e400],"a":{},"c":[]}'

    assert whole(body, "application/json").text == (
        '{\n  "b": 1.00,\n  "a": [\n    12345678901234567890123,\n    1e400\n  ],\n'
        '  "a": {},\n  "c": []\n}'
    )


def test_json_reads_as_it_is_meant_unless_that_hides_something() -> None:
    body = rb'["Gr\u00fc\u00dfe", "\u202e", "\ud83d\ude00", "\ud800", "a\/\n"]'

    text = whole(body, "application/json").text

    assert '"Grüße"' in text
    assert '"😀"' in text
    assert r'"\u202e"' in text
    assert r'"\ud800"' in text
    assert r'"a/\n"' in text


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_json_that_is_laid_out_says_the_same(value: object) -> None:
    made = whole(json.dumps(value).encode(), "application/json")

    assert json.loads(made.text) == value
    assert not made.notice


def test_xml_keeps_prefixes_comments_entities_and_blanks_in_values() -> None:
    body = (
        b'<?xml version="1.0" encoding="ISO-8859-1"?><!-- a>b -->'
        b'<p:a xmlns:p="u" q="a>b"><b>  \xe9 &amp; </b><c/><d>\n<e>1</e>\n</d></p:a>'
    )

    assert whole(body, "application/xml").text == (
        '<?xml version="1.0" encoding="ISO-8859-1"?>\n<!-- a>b -->\n'
        '<p:a xmlns:p="u" q="a>b">\n  <b>  é &amp; </b>\n  <c/>\n'
        "  <d>\n    <e>1</e>\n  </d>\n</p:a>"
    )


@pytest.mark.parametrize(
    "declaration",
    ['<!ENTITY a "ha">', '<!ENTITY x SYSTEM "file:///etc/hostname">'],
)
def test_xml_with_a_dtd_is_shown_as_it_was_sent(declaration: str) -> None:
    body = f"<!DOCTYPE d [{declaration}]><d>&a;&x;</d>"

    made = whole(body.encode(), "text/xml")

    assert (made.text, made.done) == (body, "as text")
    assert "DTD" in made.notice


def test_hl7_has_a_line_for_each_segment_with_its_name() -> None:
    body = b"\x0bMSH|^~\\&|A|B\rPID|1||7\nZZZ|own\r\n\x1c\r"

    assert whole(body, HL7).text.splitlines() == [
        r"Message header        MSH|^~\&|A|B",
        "Patient               PID|1||7",
        "                      ZZZ|own",
    ]


def test_hl7_is_read_in_the_character_set_that_it_names() -> None:
    body = b"MSH|^~\\&|||||1||ADT|7|P|2.5||||||8859/1\rPID|||M\xfcller"

    assert "Müller" in whole(body, "application/hl7-v2").text


def test_a_form_has_a_line_for_each_field() -> None:
    made = whole(b"a=1&long=x+y%3D&a=", "application/x-www-form-urlencoded")

    assert made.text == "a    = 1\nlong = x y=\na    = "


def test_bytes_have_their_places_and_their_letters() -> None:
    made = whole(bytes(range(0x3A, 0x4C)) + b"\0\xff", "image/tiff")

    assert made.text.splitlines() == [
        "00000000 | 3a 3b 3c 3d 3e 3f 40 41 42 43 44 45 46 47 48 49 | :;<=>?@ABCDEFGHI",
        "00000010 | 4a 4b 00 ff                                     | JK..",
    ]
    assert made.done == "as bytes"
    assert made.notice == "Nothing here shows image/tiff."


@pytest.mark.parametrize(
    ("body", "content_type", "done", "notice"),
    [
        (b'{"a":1}', "", "JSON, indented", ""),
        (b'{"a":1}', "application/octet-stream", "JSON, indented", ""),
        (b'{"a":1}', "application/cloudevents+json; v=1", "JSON, indented", ""),
        (b"<a/>", "application/soap+xml", "XML, indented", ""),
        (b"MSH|^~\\&|", "text/plain; charset=utf-8", "as text", ""),
        (
            b"MSH|^~\\&|",
            "image/png",
            "HL7 v2, each segment after its name",
            "image/png",
        ),
        (b'{"a":', "application/json", "as text", "does not read so"),
        (b"[" * 100_000, "application/json", "as text", "nested too deep"),
        (b"<a>", "application/json", "as text", "does not read so"),
        (b'{"a":1}', "application/xml", "JSON, indented", "does not read so"),
        (b"\xff\xfe", "text/plain", "as bytes", "does not read so"),
        (b"gr\xfcn", "text/plain; charset=latin-1", "as text", ""),
        (b"gr\xfcn", "text/plain; charset=no-such", "as bytes", "no-such"),
        (b"[NaN]", "application/json", "as text", "NaN is not JSON"),
        (b"%", "application/x-www-form-urlencoded", "as text", "does not read so"),
        (b"a\0b", "", "as bytes", ""),
    ],
)
def test_what_is_done_is_said(
    body: bytes, content_type: str, done: str, notice: str
) -> None:
    made = whole(body, content_type)

    assert made.done == done
    assert notice in made.notice
    assert bool(made.notice) == bool(notice)


@pytest.mark.parametrize("unit", ["x", "é", "😀"])
def test_of_a_very_long_text_the_beginning_is_shown(unit: str) -> None:
    made = whole(b"#" + unit.encode() * LAID_OUT, "application/json")

    assert made.is_cut
    assert made.done == "as text"
    assert set(made.text) == {"#", unit}
    assert SHOWN - 4 < len(made.text.encode()) <= SHOWN


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"[" * 900 + b"1" + b",1" * 400_000 + b"]" * 900, "application/json"),
        (b"<a>" * 70_000 + b"</a>" * 70_000, "application/xml"),
        (b"<a>" + b"<b/>" * 200_000 + b"</a>", "application/xml"),
        (b"\0" * 2_000_000, ""),
        (b"a=1&" * 200_000 + b"b=2", "application/x-www-form-urlencoded"),
    ],
)
def test_what_grows_when_it_is_laid_out_stays_small(
    body: bytes, content_type: str
) -> None:
    made = whole(body, content_type)

    assert made.is_cut
    assert len(made.text) <= 6 * SHOWN


ODD_BODIES = [
    *(b"", b"\0", b"\xff", b"{", b"<", b"MSH", b"MSH|||", b"a=%"),
    '<?xml version="1.0" encoding="utf-16"?><a/>'.encode("utf-16"),
    b'<?xml version="1.0" encoding="rot13"?><a/>',
    b'\xef\xbb\xbf{"a": "\xe2\x80\xae"}',
]


@pytest.mark.parametrize("content_type", list(VIEWERS))
@pytest.mark.parametrize("body", ODD_BODIES)
def test_every_viewer_shows_any_bytes_or_says_that_it_cannot(
    body: bytes, content_type: str
) -> None:
    try:
        assert isinstance(VIEWERS[content_type].read(body), str)
    except (ValueError, LookupError):
        assert whole(body, content_type).notice


@given(body=st.binary(), content_type=st.text() | st.sampled_from([*VIEWERS]))
@example(b"\x0b\x0b", HL7)
@example(b"<a>\xff</a>", "text/xml; charset=utf-16")
def test_any_body_of_any_type_is_shown(body: bytes, content_type: str) -> None:
    made = whole(body, content_type)

    assert made.is_cut or made.text or not body.strip(b"\x0b\x1c\r\n\t &")
    assert "<" not in re.sub("</?(bdi|mark)>", "", printable(made.text))


def test_a_type_has_one_viewer() -> None:
    with pytest.raises(ImproperlyConfigured, match="has a viewer already"):
        shows("application/json", done="")(viewers.text)


@pytest.mark.skipif(not REAL_MESSAGES.is_dir(), reason="no messages beside the project")
def test_real_messages_are_laid_out() -> None:
    types = {".json": "application/json", ".xml": "application/xml", ".hl7": HL7}
    files = [p for p in Path(REAL_MESSAGES).rglob("*") if p.suffix in types]
    made = [whole(path.read_bytes(), types[path.suffix]) for path in files]

    assert len(made) > 200
    assert sum(not one.notice for one in made) > len(made) * 0.9


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<script>&'\"", escape("<script>&'\"")),
        ("a\x1b[31m\x07", "a<mark>[ESC]</mark>[31m<mark>[BEL]</mark>"),
        (
            "\u202egnp.exe\u2066\u2069",
            "<mark>[U+202E]</mark>gnp.exe<mark>[U+2066][U+2069]</mark>",
        ),
        ("\x7f\x85\u2028\ufeff", "<mark>[U+007F][U+0085][U+2028][U+FEFF]</mark>"),
        ("one\n\ttwo Grüße 漢 😀", "one\n\ttwo Grüße 漢 😀"),
        ("<\0>", "&lt;<mark>[NUL]</mark>&gt;"),
    ],
)
def test_hidden_characters_are_marked(text: str, html: str) -> None:
    assert printable(text) == f"<bdi>{html}</bdi>"


@pytest.mark.parametrize(
    ("body", "hidden", "at_least"),
    [
        (b"\n" * LINES, 0, False),
        (b"a\n" * (LINES + 1), 1, False),
        (b"a\n" * LINES + b"a", 1, False),
        (b"\r\n" * 1_000_000, LAID_OUT // 2 - LINES, True),
        (b"\n" * 1_000_000, 1_000_000 - LINES, False),
        (b"\n" * 2**21, LAID_OUT - LINES, True),
    ],
)
@pytest.mark.parametrize("wanted", ["", "text"])
def test_many_lines_are_cut_and_counted(
    body: bytes, hidden: int, at_least: bool, wanted: str
) -> None:
    made = show(body[:LAID_OUT], len(body), "text/plain", wanted=wanted)

    assert len(made.lines) <= LINES
    assert (made.hidden_lines, made.is_partly_read) == (hidden, at_least)


def test_every_line_of_bytes_that_are_shown_has_room() -> None:
    made = show(bytes(2**21)[:LAID_OUT], 2**21, "")

    assert (len(made.lines), made.hidden_lines, made.is_cut) == (LINES, 0, True)


def test_long_text_is_cut_and_says_so() -> None:
    made = printable("<" * 5000, 2)

    assert made == "<bdi>&lt;&lt;</bdi> <small>… and 4,998 characters more</small>"
