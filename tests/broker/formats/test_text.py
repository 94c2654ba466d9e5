"""A body as text, and back: nothing changes but what somebody typed."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.formats.text import LINE_END, lines_of, opcodes, text_of, with_ends_of

TYPE = "text/plain"
CHARSETS = ["utf-8", "utf-16", "UTF-16LE", "utf-32-be", "iso-8859-1", "windows-1252"]
LINES = st.lists(
    st.tuples(
        st.text(
            st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"),
            max_size=5,
        ),
        st.sampled_from(["\n", "\r\n", "\r"]),
    ),
    max_size=8,
)


@given(LINES, st.sampled_from(CHARSETS), st.booleans())
def test_a_body_is_written_again_byte_for_byte(
    lines: list[tuple[str, str]], charset: str, has_mark: bool
) -> None:
    text = ("\ufeff" if has_mark else "") + "".join(a + b for a, b in lines)
    body = text.encode(charset, errors="ignore")

    try:
        found = text_of(body, f'{TYPE}; charset="{charset}"')
    except ValueError:
        return

    assert found.written(found.text) == body


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        (b"\xef\xbb\xbf{}", "utf-8", "{}"),
        (b"\xff\xfea\0", "utf-16", "a"),
        (b"\xfe\xff\0a", "utf-16", "a"),
        (b"a\0", "utf-16le", "a"),
        (b"\xff\xfe\0\0a\0\0\0", "utf-32", "a"),
        ("é".encode("latin-1"), "iso-8859-1", "é"),
        (b"\xc1", "cp037", "A"),
    ],
)
def test_marks_of_the_order_of_bytes_are_kept_apart(
    body: bytes, charset: str, text: str
) -> None:
    found = text_of(body, f"{TYPE};charset={charset}")

    assert found.text == text
    assert found.written(text) == body


@pytest.mark.parametrize(
    ("body", "content_type", "why"),
    [
        (b"\xff", "text/plain", "its bytes are not utf-8"),
        (b"\0", "application/octet-stream", "NUL"),
        (b"{}", "text/plain; charset=rot13", "nobody here knows"),
        (b"{}", "text/plain; charset=punycode", "nobody here knows"),
        (b"{}", "text/plain; charset=klingon", "nobody here knows"),
        (b"{}", "application/vnd.oasis.amqp", "values of AMQP"),
        ("é".encode(), "text/plain; charset=us-ascii", "its bytes are not ascii"),
    ],
)
def test_what_is_no_text_says_why(body: bytes, content_type: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        text_of(body, content_type)


def test_a_character_that_the_set_has_not_is_named() -> None:
    found = text_of(b"1", "text/plain; charset=iso-8859-1")

    with pytest.raises(ValueError, match=r"no character '€' \(U\+20AC\)"):
        found.written("1 €")


@given(LINES, st.text(max_size=3).map(lambda text: LINE_END.sub("", text)))
@example(lines=[("a", "\r\n"), ("a", "\n"), ("a", "\r")], last="")
def test_what_a_browser_sends_back_unchanged_is_unchanged(
    lines: list[tuple[str, str]], last: str
) -> None:
    original = "".join(a + b for a, b in lines) + last

    assert with_ends_of(original, LINE_END.sub("\r\n", original)) == original


def test_a_line_that_is_typed_gets_the_end_of_the_line_before() -> None:
    original = "a\r\nb\nc\r\n"

    typed = "a\r\nx\r\nb\r\ny\r\nc\r\n"

    assert with_ends_of(original, typed) == "a\r\nx\r\nb\ny\nc\r\n"


def test_a_line_that_is_changed_keeps_its_end() -> None:
    original = "a\nb\r\nc\n"

    assert with_ends_of(original, "a\r\nB\r\nc\r\n") == "a\nB\r\nc\n"


def test_a_text_without_ends_gets_the_usual_ones() -> None:
    assert with_ends_of("a", "a\r\nb") == "a\nb"


@given(LINES, LINES)
def test_opcodes_lead_from_one_text_to_the_other(
    one: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    before, after = [line for line, _ in one], [line for line, _ in other]
    made: list[str] = []
    for tag, i1, i2, j1, j2 in opcodes(before, after):
        made += before[i1:i2] if tag == "equal" else after[j1:j2]

    assert made == after


def test_hostile_texts_are_compared_in_bounded_time() -> None:
    before = ["x", *["a", "b"] * 20_000, "y"]
    after = ["y", *["b", "a", "c"] * 15_000, "x"]

    began = time.monotonic()
    opcodes(before, after)

    assert time.monotonic() - began < 5


def test_lines_end_only_where_browsers_end_them() -> None:
    assert len(lines_of("a\u2028b\x0bc\x85d")) == 1
