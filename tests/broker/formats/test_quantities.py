"""Durations, sizes and counts: what is written is read as it was, as far as it is
written; and all that people write is read."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django import forms
from django.core.exceptions import ValidationError
from hypothesis import example, given
from hypothesis import strategies as st

from broker.admin.quantities import DurationField, QuantityField, SizeField
from broker.formats.quantities import (
    ENDINGS,
    MS,
    read_count,
    read_duration,
    read_size,
    read_stored,
    write_count,
    write_duration,
    write_size,
    write_stored,
)

NUMBERS = st.integers(0, 10**4) | st.integers(0, 10**8) | st.integers(0, 10**17)


def field(ending: str, **options: bool) -> QuantityField:
    kind = SizeField if ending == "_bytes" else DurationField
    return kind(ending=ending, required=False, **options)


@given(NUMBERS, st.sampled_from(ENDINGS))
def test_an_exact_text_is_read_as_it_was(value: int, ending: str) -> None:
    assert read_stored(write_stored(value, ending), ending) == value


@given(NUMBERS)
@example(9_960)
@example(7_500_000)
def test_a_duration_is_read_to_its_second_unit(ms: int) -> None:
    text = write_duration(ms, "ms")
    least = MS[text.split()[-1]]
    if text.endswith(" s"):
        least = 100 if ms < 10_000 else 1000
    elif len(text.split()) == 2:  # its second unit is 0
        least = {MS["d"]: MS["h"], MS["h"]: MS["min"], MS["min"]: 1000}.get(least, 1)

    assert abs(read_duration(text, "ms") - ms) < least
    assert write_duration(read_duration(text, "ms"), "ms") == text


@given(NUMBERS)
def test_a_size_is_read_to_a_tenth_of_its_unit(count: int) -> None:
    text = write_size(count)

    assert abs(read_size(text) - count) <= read_size(f"1 {text.split()[-1]}") * 0.051
    assert write_size(read_size(text)) == text


@given(st.integers(0, 10**30))
def test_a_count_is_read_as_it_was(count: int) -> None:
    assert read_count(write_count(count)) == count


@pytest.mark.parametrize(
    ("seconds", "shown", "exact"),
    [
        (0, "0 s", "0 s"),
        (0.0125, "12 ms", "12 ms"),
        (0.9996, "1 s", "1 s"),
        (1.84, "1.8 s", "1.84 s"),
        (9.96, "10 s", "9.96 s"),
        (59.6, "59 s", "59.6 s"),
        (90.25, "1 min 30 s", "1 min 30.25 s"),
        (7500, "2 h 5 min", "2 h 5 min"),
        (7530, "2 h 5 min", "2 h 5 min 30 s"),
        (3601, "1 h", "1 h 1 s"),
        (190_000, "2 d 4 h", "2 d 4 h 46 min 40 s"),
        (timedelta(days=36_500), "36,500 d", "36,500 d"),
        (-7500, "-2 h 5 min", "-2 h 5 min"),
    ],
)
def test_durations(seconds: timedelta | float, shown: str, exact: str) -> None:
    assert write_duration(seconds) == shown
    assert write_duration(seconds, exact=True) == exact


@pytest.mark.parametrize(
    ("count", "shown", "exact"),
    [
        (0, "0 B", "0 B"),
        (1023, "1023 B", "1.023 kB"),
        (65_536, "64 KiB", "64 KiB"),
        (2_000_000, "1.9 MiB", "2 MB"),
        (2**20 - 1, "1 MiB", "1048.575 kB"),
        (12_345, "12.1 KiB", "12.345 kB"),
        (2**40, "1 TiB", "1 TiB"),
        (2**50, "1,024 TiB", "1024 TiB"),
    ],
)
def test_sizes(count: int, shown: str, exact: str) -> None:
    assert write_size(count) == shown
    assert write_size(count, exact=True) == exact


@pytest.mark.parametrize(
    ("value", "noun", "text"),
    [
        (5000, "", "5,000"),
        (12.34, "", "12.3"),
        (1, "message", "1 message"),
        (0, "message", "0 messages"),
        (1200, "message", "1,200 messages"),
    ],
)
def test_counts(value: float, noun: str, text: str) -> None:
    assert write_count(value, noun) == text


@pytest.mark.parametrize(
    ("typed", "ms"),
    [
        (" 1h 30 minutes ", 5_400_000),
        ("1.5 h", 5_400_000),
        ("90M", 5_400_000),
        ("1w2d", 777_600_000),
        ("1,000 ms", 1000),
        ("0", 0),
    ],
)
def test_durations_are_read_in_every_way(typed: str, ms: int) -> None:
    assert read_duration(typed, "ms") == ms


@pytest.mark.parametrize(
    ("typed", "size"),
    [
        ("500", 500),
        ("64kib", 65_536),
        ("10k", 10_000),
        ("1.5Mi", 1_572_864),
        ("2 bytes", 2),
        ("1 MiB 1 B", 1_048_577),
    ],
)
def test_sizes_are_read_in_every_way(typed: str, size: int) -> None:
    assert read_size(typed) == size


@pytest.mark.parametrize("typed", ["", "ten", "5 s", "-1", "1.5", "5,00"])
def test_what_is_no_count_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="Write one, such as 5,000"):
        read_count(typed)


@given(st.integers(min_value=-1, max_value=10**15), st.sampled_from(ENDINGS))
def test_what_a_form_shows_is_what_it_reads(value: int, ending: str) -> None:
    one = field(ending)
    shown = str(one.prepare_value(value))

    assert one.clean(shown) == value
    assert not one.has_changed(value, shown)


@given(st.integers(min_value=1, max_value=10**9))
def test_a_time_with_a_fraction_is_read_as_it_was(milliseconds: int) -> None:
    one = field("_s", fractions=True)
    assert one.clean(one.prepare_value(milliseconds / 1000)) == milliseconds / 1000


@pytest.mark.parametrize(
    ("ending", "typed", "value"),
    [
        ("_ms", "5000", 5000),
        ("_ms", " 1h 30 minutes ", 5_400_000),
        ("_bytes", "64kib", 65_536),
        ("_s", "", None),
        ("_ms", "-1", -1),
        ("_ms", "0", 0),
    ],
)
def test_a_number_alone_is_in_the_stored_unit(
    ending: str, typed: str, value: int | None
) -> None:
    assert field(ending).clean(typed) == value


@pytest.mark.parametrize("typed", ["5 parsecs", "s", "1.5", "5 s left", "0.5 ms"])
def test_what_is_no_time_is_refused_with_what_to_write(typed: str) -> None:
    with pytest.raises(ValidationError, match="Write a number and a unit, as “5 min”"):
        field("_ms").clean(typed)
    assert isinstance(field("_ms").widget, forms.TextInput)
