"""Bars that add up, whatever is counted."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.reports import bars

DAYS = [date(2026, 3, 1) + timedelta(days=n) for n in range(30)]
WORDS = {"EXPIRED": "expired", "REJECTED": "rejected"}

counts = st.dictionaries(
    st.tuples(st.sampled_from(DAYS), st.sampled_from(sorted(WORDS))),
    st.integers(1, 10**12),
)


@given(counts=counts)
def test_every_count_is_drawn_within_the_frame(
    counts: dict[tuple[date, str], int],
) -> None:
    drawn = bars.stack(counts, DAYS, WORDS)

    assert {(part.day, part.series): part.count for part in drawn.parts} == counts
    for part in drawn.parts:
        assert float(part.y) >= bars.TOP - 0.1
        assert float(part.y) + float(part.height) <= drawn.bottom + 0.2
        assert drawn.left <= float(part.x) <= drawn.right
    assert 2 <= len(drawn.counts) <= 6
    assert len(drawn.days) <= bars.LABELS
    assert drawn.days[0].word == DAYS[-1], "today is named"


def test_parts_of_one_day_stand_on_each_other() -> None:
    day = DAYS[0]
    lower, upper = bars.stack(
        {(day, "EXPIRED"): 3, (day, "REJECTED"): 2}, [day], WORDS
    ).parts

    assert lower.series == "EXPIRED"
    assert float(lower.y) == pytest.approx(
        float(upper.y) + float(upper.height), abs=0.1
    )
    assert float(lower.y) + float(lower.height) == bars.HEIGHT - bars.BOTTOM


@pytest.mark.parametrize(
    ("tallest", "step"),
    [(0, 1), (1, 1), (5, 1), (6, 2), (10, 2), (11, 5), (26, 10), (999, 200)],
)
def test_lines_stand_at_round_numbers(tallest: int, step: int) -> None:
    assert bars.round_step(tallest) == step
