"""Which errors are one thing to mend."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.fingerprints import LONGEST, fingerprint

NUMBERS = st.integers(0, 10**30)
PLAIN_WORDS = st.text("abcdefghijklmnopqrstuvwxyz ", max_size=30)
NAMES = st.text(
    st.characters(exclude_characters="'\n\r\"", exclude_categories=["C", "Z"])
)


@given(st.text())
@example("")
@example("\n")
@example("\x00\ud800")
def test_any_text_has_a_group(error: str) -> None:
    found = fingerprint(error)
    assert re.fullmatch("[0-9a-f]{12}", found.key)
    assert fingerprint(error) == found
    assert "\n" not in found.pattern


@given(NUMBERS, NUMBERS)
@example(17, 12_345_678)  # as long as an id may be
@example(0, 2**63)
def test_errors_that_differ_in_a_number_are_one_group(one: int, other: int) -> None:
    assert same(f"row {one} has no customer", f"row {other} has no customer")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("took 1.5 s", "took 12 s"),
        ("1,024 bytes", "7 bytes"),
        ("17ms late", "3ms late"),
        ("line 1, column 2", "line 10, column 20"),
    ],
)
def test_numbers_may_be_written_as_people_do(one: str, other: str) -> None:
    assert same(one, other)


@given(st.uuids(), st.uuids())
def test_errors_that_differ_in_an_id_are_one_group(
    one: uuid.UUID, other: uuid.UUID
) -> None:
    assert same(f"no order {one}", f"no order {other}")
    assert same(f"no order {one}", f"no order {str(other).upper()}")


@given(st.binary(min_size=4, max_size=32), st.binary(min_size=4, max_size=32))
@example(b"\x12\x34\x56\x78", b"\xab\xcd\x01\xef")  # one without a letter
def test_errors_that_differ_in_a_hexadecimal_id_are_one_group(
    one: bytes, other: bytes
) -> None:
    """But for one in a million that has no digit, and looks like a word."""
    texts = [id_.hex() for id_ in (one, other)]
    if all(any(c.isdigit() for c in text) for text in texts):
        assert same(*(f"commit {text} is gone" for text in texts))


@given(st.datetimes(), st.datetimes())
def test_errors_that_differ_in_a_time_are_one_group(
    one: datetime, other: datetime
) -> None:
    texts = [time.replace(tzinfo=UTC).isoformat() for time in (one, other)]
    assert same(*(f"expired at {text}" for text in texts))


@pytest.mark.parametrize("quotes", ["''", '""', "“”", "``"])
@given(one=NAMES, other=NAMES)
def test_errors_that_differ_in_what_they_quote_are_one_group(
    quotes: str, one: str, other: str
) -> None:
    if not {*quotes} & {*one, *other}:
        opens, closes = quotes[0], quotes[1]
        assert same(
            f"unknown kind {opens}{one}{closes}", f"unknown kind {opens}{other}{closes}"
        )


def test_an_apostrophe_does_not_begin_what_is_quoted() -> None:
    assert same("couldn't find 'alice'", "couldn't find 'bob'")
    assert not same("can't read 'a'", "can't write 'a'")


@given(PLAIN_WORDS, PLAIN_WORDS)
def test_errors_that_differ_in_their_words_are_two_groups(one: str, other: str) -> None:
    assert same(one, other) == (one.strip() == other.strip())


def test_the_first_line_decides() -> None:
    assert same("no such customer\n  File a.py", "no such customer\r\n  File b.py")
    assert not same("no such customer\nx", "no such order\nx")


def test_the_pattern_can_be_read() -> None:
    error = "KeyError: 'bob' in row 17 of 6fa459ea-ee8a-3ca4-894e-db77e160355e"
    assert fingerprint(error).pattern == "KeyError: {text} in row {n} of {id}"


@given(
    st.sampled_from(["'", '"', "“", "`", "a", "0", "0x", "1.", "1-", "'\"", "\u0660"]),
    st.integers(0, 3),
)
def test_hostile_text_is_cut_before_it_is_searched(part: str, power: int) -> None:
    """So the work has a bound, whatever the text and its length."""
    error = part * 10 ** (3 + power)
    assert fingerprint(error) == fingerprint(error[:LONGEST])
    assert len(fingerprint(error).pattern) <= 4 * LONGEST


def same(one: str, other: str) -> bool:
    return fingerprint(one).key == fingerprint(other).key
