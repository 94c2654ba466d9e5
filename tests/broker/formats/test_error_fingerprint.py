"""Which errors are one thing to mend."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.formats.error_fingerprint import LONGEST, fingerprint

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


@pytest.mark.parametrize(
    ("error", "pattern"),
    [
        # Python
        (
            'psycopg.OperationalError: connection to server at "10.0.3.17", port 5432'
            " failed: Connection refused",
            "psycopg.OperationalError: connection to server at {text}, port {n} failed:"
            " Connection refused",
        ),
        (
            "HTTPError: 404 Client Error: Not Found for url:"
            " https://api.example.com/v1/orders/17?full=1",
            "HTTPError: {n} Client Error: Not Found for url: {url}",
        ),
        ("decimal lag -5.25 is below 1e-05", "decimal lag {n} is below {n}"),
        ("<Order at 0x7f3a2b9c> is closed", "<Order at {n}> is closed"),
        # Java
        (
            "java.lang.IllegalStateException: com.acme.Order@1b6d358 is CLOSED",
            "java.lang.IllegalStateException: com.acme.Order@{n} is CLOSED",
        ),
        (
            "org.postgresql.util.PSQLException: Connection to db1.prod.internal:5432"
            " refused.",
            "org.postgresql.util.PSQLException: Connection to {host} refused.",
        ),
        (
            """Unexpected character ('}' (code 125)) at [Source: "{\\"a\\":1}"]""",
            "Unexpected character ({text} (code {n})) at [Source: {text}]",
        ),
        # Go
        (
            "2026/03/14 12:00:01 dial tcp 10.0.3.17:5432: connect: connection refused",
            "{time} dial tcp {host}: connect: connection refused",
        ),
        ("dial tcp [2001:db8::17]:5432: i/o timeout", "dial tcp {host}: i/o timeout"),
        (
            "open /var/lib/orders/17/in.json: no such file or directory",
            "open {path}: no such file or directory",
        ),
        (
            'parsing "say \\"hi\\" now": invalid syntax',
            "parsing {text}: invalid syntax",
        ),
        # JavaScript
        (
            "TypeError: Cannot read properties of undefined (reading 'name')",
            "TypeError: Cannot read properties of undefined (reading {text})",
        ),
        (
            "Error: charge ch_3Nf8Kx2eZvKYlo2C1a2b3c4d of bob.17@example.com failed",
            "Error: charge {id} of {email} failed",
        ),
        # .NET
        (
            "System.IO.FileNotFoundException: Could not find C:\\data\\in\\17.xml",
            "System.IO.FileNotFoundException: Could not find {path}",
        ),
        (
            "String '14/03/2026 12:00' was not recognized, at 3/14/2026 12:00:00 PM",
            "String {text} was not recognized, at {time}",
        ),
        # Rust
        (
            "thread 'main' panicked at src/main.rs:10:5: the index is 7",
            "thread {text} panicked at src/main.rs:{n}:{n}: the index is {n}",
        ),
        # servers and clusters
        ("pod orders-7d9f8b6c4-x2xvq was evicted", "pod orders-{id} was evicted"),
        ("event 01HV6X3Z9KQ8W1R2T3Y4V5B6N7 is late", "event {id} is late"),
        ("rejected at Sat, 14 Mar 2026 12:00:00 GMT", "rejected at {time}"),
        ("[14/Mar/2026:12:00:00 +0000] no route", "[{time}] no route"),
    ],
)
def test_errors_of_many_languages_lose_what_varies(error: str, pattern: str) -> None:
    assert fingerprint(error).pattern == pattern


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Request failed with status code 404", "Request failed with status code 503"),
        ("HTTP 404 Not Found", "HTTP 410 Not Found"),
        ("std::bad_alloc", "std::bad_cast"),
        ("com.acme.OrderException: late", "com.acme.PaymentException: late"),
        ("Http2ConnectionException: GOAWAY", "Http2StreamException: GOAWAY"),
        ("application/json is no type", "application/xml is no type"),
        ("no queue orders.eu", "no queue bills.eu"),
    ],
)
def test_what_tells_errors_apart_is_kept(one: str, other: str) -> None:
    assert not same(one, other)


@pytest.mark.parametrize("end", ["", " ", "\\", "{"])
def test_a_quotation_that_was_cut_does_not_divide(end: str) -> None:
    """Neither by what is in it, nor by the blank at which it happens to be cut."""
    begins = "bad body '"
    texts = [one * (LONGEST - len(begins) - len(end)) + end for one in "ab"]
    assert same(*(f"{begins}{text}, and more" for text in texts))


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
