"""What the report of times to death requires of its rows."""

from __future__ import annotations

from typing import Any

import pytest

from dashboards.reports.errors import QualityBroken
from dashboards.reports.times import check_deaths

KNOWN = {"p50": 1.0, "p90": 2.0, "p99": 2.0, "longest": 3.0}
UNKNOWN = dict.fromkeys(KNOWN)


def test_times_that_nobody_knows_need_no_order() -> None:
    inputs: Any = None
    check_deaths(inputs, [KNOWN, UNKNOWN])
    with pytest.raises(
        QualityBroken, match="no time is shorter than a time that more messages took"
    ):
        check_deaths(inputs, [UNKNOWN, KNOWN | {"p50": 2.5}])
