"""Checks of a report's rows before they are published."""

from __future__ import annotations

from dashboards.reports.errors import QualityBroken


def require_equal(check: str, found: int, expected: int) -> None:
    """
    Args:
        check: the claim, as a sentence without a full stop.

    Raises:
        QualityBroken: the numbers differ.
    """
    if found != expected:
        raise QualityBroken(check, found, expected)
