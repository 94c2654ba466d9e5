"""Rows of reports as PostgreSQL can keep them."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime

import pytest

from dashboards.pipeline.report_rows import cells


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_not_known(number: float) -> None:
    assert cells({"share": number, "count": 3}) == {"share": None, "count": 3}


def test_times_and_days_are_texts() -> None:
    row = {"day": date(2026, 3, 1), "at": datetime(2026, 3, 1, 7, tzinfo=UTC), "x": 0.5}
    assert json.loads(json.dumps(cells(row))) == {
        "day": "2026-03-01",
        "at": "2026-03-01T07:00:00+00:00",
        "x": 0.5,
    }
