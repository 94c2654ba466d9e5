"""Figures that are no rates: seconds, milliseconds, megabytes, and ratios of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the second table."""

    work: str
    value: float
    unit: str
    against: str = ""
    ratio: float | None = None
    least: float | None = None  # that the ratio should be
    most: float | None = None  # that the ratio should be; of a value without one, it

    @property
    def target(self) -> str:
        if self.least is not None:
            return f"≥ {self.least:g}"
        return "" if self.most is None else f"≤ {self.most:g}"

    @property
    def verdict(self) -> str:
        judged = self.value if self.ratio is None else self.ratio
        if self.least is not None:
            return "reached" if judged >= self.least else "missed"
        if self.most is not None:
            return "reached" if judged <= self.most else "missed"
        return ""


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that this share of the values does not exceed; of none, no number."""
    if not values:
        return math.nan
    ranked = sorted(values)
    return ranked[min(int(len(ranked) * percent / 100), len(ranked) - 1)]
