"""What must be true of a report's rows before anybody sees them."""

from __future__ import annotations

from dashboards.reports.errors import QualityBroken


def require_equal(check: str, found: int, expected: int) -> None:
    """
    Args:
        check: what is claimed, as a sentence without its full stop.

    Raises:
        QualityBroken: they are not.
    """
    if found != expected:
        raise QualityBroken(check, found, expected)
