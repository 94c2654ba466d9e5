"""How long to wait before the next try, while the database or Redis is away."""

from __future__ import annotations

import math
import random
import time

FIRST_S = 0.1


class Waits:
    """Waits between tries. The first try is at once, as often only one connection was
    lost. Then each wait is twice as long as the one before, less a random part, so that
    not all processes try at the same time. After a time without a failure they begin
    anew.

    Args:
        longest_s: the longest wait.
    """

    def __init__(self, longest_s: float) -> None:
        self.longest_s = longest_s
        self.failures = 0  # in a row
        self.failed_at_s = -math.inf

    def next_s(self, now_s: float | None = None) -> float:
        """The wait after another failure.

        Args:
            now_s: the current time, for tests; this machine's clock when not given.
        """
        now_s = time.monotonic() if now_s is None else now_s
        if now_s - self.failed_at_s > 2 * self.longest_s:
            self.failures = 0
        self.failures += 1
        self.failed_at_s = now_s
        if self.failures == 1:
            return 0.0
        doubled = min(self.failures - 2, 30)
        longest = min(self.longest_s, FIRST_S * 2.0**doubled)
        return longest * random.uniform(0.5, 1)  # noqa: S311
