"""Times and sizes with units: what is written is read as it was, and nothing shorter
would say the same."""

from __future__ import annotations

import pytest
from django import forms
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from broker.admin.quantities import DurationField, QuantityField, SizeField
from broker.formats import units

ENDINGS = st.sampled_from(sorted(units.UNITS))


def field(ending: str, **options: bool) -> QuantityField:
    kind = SizeField if ending == "_bytes" else DurationField
    return kind(ending=ending, required=False, **options)


@given(st.integers(min_value=-1, max_value=10**15), ENDINGS)
def test_what_a_form_shows_is_what_it_reads(value: int, ending: str) -> None:
    one = field(ending)
    shown = str(one.prepare_value(value))

    assert one.clean(shown) == value
    assert not one.has_changed(value, shown)
    if value > 0:
        assert sum(map(str.isdigit, shown)) <= len(str(value))


@given(st.integers(min_value=1, max_value=10**9))
def test_a_time_with_a_fraction_is_read_as_it_was(milliseconds: int) -> None:
    one = field("_s", fractions=True)
    assert one.clean(one.prepare_value(milliseconds / 1000)) == milliseconds / 1000


@pytest.mark.parametrize(
    ("ending", "value", "text"),
    [
        ("_ms", 5000, "5 s"),
        ("_ms", 600_000, "10 min"),
        ("_ms", 5_400_000, "1.5 h"),
        ("_s", 604_800, "7 d"),
        ("_ms", 1500, "1.5 s"),
        ("_ms", 1, "1 ms"),
        ("_bytes", 2_000_000, "2 MB"),
        ("_bytes", 65_536, "64 KiB"),
        ("_bytes", 12_345, "12.345 kB"),
    ],
)
def test_the_exact_text_with_the_fewest_digits_is_written(
    ending: str, value: int, text: str
) -> None:
    assert units.written(value, units.UNITS[ending]) == text


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
    with pytest.raises(ValidationError, match="Write a number and a unit, as “5 d”"):
        field("_ms").clean(typed)
    assert isinstance(field("_ms").widget, forms.TextInput)
