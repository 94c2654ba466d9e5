"""A histogram of bounded memory: counts of microseconds, to three significant figures.

Buckets are as in HDR histograms: a power of two has 1,024 of them, so none is wider
than a thousandth of its values.
"""

from __future__ import annotations

from collections.abc import Sequence

HALF = 1024
LONGEST_US = 2**32 - 1  # 71 minutes; what is longer counts as this
SIZE = (32 - 11) * HALF + 2 * HALF


def bucket(us: int) -> int:
    """The index of a duration's bucket."""
    us = min(max(us, 0), LONGEST_US)
    shift = max(us.bit_length() - 11, 0)
    return HALF * shift + (us >> shift)


def middle_us(index: int) -> float:
    """The middle of a bucket."""
    if index < 2 * HALF:
        return float(index)
    shift = index // HALF - 1
    return float(((index - HALF * shift) << shift) + (1 << shift) / 2)


def quantiles_ms(counts: Sequence[int], shares: Sequence[float]) -> list[float]:
    """The quantiles of what was counted, for ascending shares; zeros for nothing."""
    total = sum(counts)
    if not total:
        return [0.0] * len(shares)
    found: list[float] = []
    passed = 0
    for index, count in enumerate(counts):
        passed += count
        while len(found) < len(shares) and passed >= shares[len(found)] * total:
            found.append(middle_us(index) / 1000)
        if len(found) == len(shares):
            break
    return found
