"""Checks of a report's rows before they are published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypedDict

from dashboards.reports.errors import QualityBroken


class CheckResult(TypedDict):
    """One claim with its numbers, added up over the days and batches of a run."""

    claim: str
    found: int
    expected: int
    times: int  # how often it was checked


# The results of checks in the run that this thread performs, by claim.
KEPT: ContextVar[dict[str, CheckResult] | None] = ContextVar("KEPT", default=None)


@contextmanager
def keep_results() -> Iterator[None]:
    """Keep the results of all checks within the block, for ``results``."""
    token = KEPT.set({})
    try:
        yield
    finally:
        KEPT.reset(token)


def results() -> list[CheckResult]:
    """What was checked so far, in the order of the first check of each claim."""
    return list((KEPT.get() or {}).values())


def require_equal(check: str, found: int, expected: int) -> None:
    """
    Args:
        check: the claim, as a sentence without a full stop.

    Raises:
        QualityBroken: the numbers differ.
    """
    known = KEPT.get()
    if known is not None:
        new = CheckResult(claim=check, found=0, expected=0, times=0)
        one = known.setdefault(check, new)
        one["found"] += found
        one["expected"] += expected
        one["times"] += 1
    if found != expected:
        raise QualityBroken(check, found, expected)
