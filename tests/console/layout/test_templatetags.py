"""How numbers, sizes, times and the beginnings of bodies are shown."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.queueing.browse import Browsed
from console.templatetags import console, console_hostile
from tests.make import NOON, minutes, seconds


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "0"), (12408, "12,408"), (0.0, "0"), (4.25, "4.2"), (7.0, "7")],
)
def test_numbers(value: float | None, shown: str) -> None:
    assert console.number(value) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("PAYMENTS.BACKOUT", "<bdi>PAYMENTS.<wbr>BACKOUT</bdi>"),
        ("a/b_c:d-e", "<bdi>a/<wbr>b_<wbr>c:<wbr>d-<wbr>e</bdi>"),
        ("orders.#", "<bdi>orders.#</bdi>"),
        (".", "<bdi>.</bdi>"),
        ("a.<b>", "<bdi>a.&lt;b&gt;</bdi>"),
        ("a.\u202eb", "<bdi>a.<mark>"),
    ],
)
def test_a_name_breaks_between_its_words(name: str, shown: str) -> None:
    assert console_hostile.name(name).startswith(shown)


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (None, "–"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (2**20 - 1, "1 MiB"),
        (5 * 2**20, "5 MiB"),
        (2**40, "1 TiB"),
    ],
)
def test_sizes(count: int | None, shown: str) -> None:
    assert console.size(count) == shown


@pytest.mark.parametrize(
    ("span", "shown"),
    [
        (None, "–"),
        (0.0125, "12 ms"),
        (0.9996, "1 s"),
        (1.84, "1.8 s"),
        (9.96, "10 s"),
        (59.6, "59 s"),
        (seconds(59), "59 s"),
        (minutes(3), "3 min"),
        (minutes(64), "1 h 4 min"),
        (timedelta(days=2, hours=5), "2 d 5 h"),
    ],
)
def test_durations(span: timedelta | float | None, shown: str) -> None:
    assert console.duration(span) == shown


def test_a_moment_of_today_has_no_date_and_any_other_has() -> None:
    today = console.moment(NOON - minutes(3), now=NOON)
    earlier = console.moment(NOON - timedelta(days=3), now=NOON)

    assert "11:57:00.000" in today
    assert "3 min ago" in today
    assert ">2026-03-14" not in today
    assert ">2026-03-11 12:00:00.000" in earlier
    assert "in 3 min" in console.moment(NOON + minutes(3), now=NOON)
    assert console.moment(None) == '<span class="muted">–</span>'


def entry_of(head: bytes, **fields: Any) -> Browsed:
    known = dict.fromkeys(field.name for field in dataclasses.fields(Browsed))
    return Browsed(**known | {"head": head, "content_type": ""} | fields)  # type: ignore[arg-type]


@given(st.binary(max_size=160))
def test_any_bytes_have_a_beginning_that_is_one_plain_line(head: bytes) -> None:
    shown = console.beginning(entry_of(head))

    assert all(character.isprintable() for character in shown.replace("\ufffd", ""))


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        (b'{\n  "a": 1\n}', '{ "a": 1 }'),
        (b"\x00\xff\x10", "00 ff 10"),
        ("größe".encode()[:3], "gr"),  # cut in the middle of a character
        (b"bell\x07", "bell␇"),
        ("a\u202eb".encode(), "a\ufffdb"),
        (b"", ""),
    ],
)
def test_beginnings_of_bodies(head: bytes, shown: str) -> None:
    assert console.beginning(entry_of(head)) == shown


def test_a_beginning_is_read_in_the_character_set_of_its_message() -> None:
    german, mainframe = "größe".encode("latin-1"), "größe".encode("cp1140")

    latin = entry_of(german, content_type="text/plain; charset=latin-1")
    ibm = entry_of(mainframe, descriptor={"coded_char_set_id": 1140})
    unknown = entry_of(mainframe, descriptor={"coded_char_set_id": 1390})
    assert console.beginning(latin) == console.beginning(ibm) == "größe"
    assert console.beginning(unknown) == mainframe.hex(" ")


def test_a_state_is_an_icon_and_a_word() -> None:
    chip = console.chip("dead")

    assert "#i-dead" in chip
    assert "dead letter" in chip
    assert "<b>" not in console.chip("dead", "<b>")
