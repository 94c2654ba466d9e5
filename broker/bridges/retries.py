"""Retries of a link: failures in a row, and the delays between tries.

Source:
    BRIDGE-10 and BRIDGE-19.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker.errors.bridges import Hold, SendRefused

MOST_FAILURES = 5  # failures in a row, as in Open MQ; one more stops the link
FIRST_S = 0.5  # delay after the first failure
MOST_DOUBLED = 30  # most doublings of a delay
LONGEST_S = 60.0  # longest delay before a refused message is tried again


def doubled_s(tries: int, longest_s: float) -> float:
    """The delay after so many failed tries: each time twice as long as before.

    Args:
        tries: number of failures in a row, from 1.
        longest_s: the longest delay.
    """
    return min(longest_s, FIRST_S * 2.0 ** min(tries - 1, MOST_DOUBLED))


@dataclass
class Retries:
    """Refusals of the first message of a link, in a row.

    A target that accepts nothing for now (``Hold``) says nothing about the message, so
    those tries do not count towards the failures that stop the link.

    Attributes:
        failures: refusals that count.
        held: tries in a row while the target accepts nothing.
        again_at: the time, by the same clock as ``now``, of the next try.
    """

    failures: int = 0
    held: int = 0
    again_at: float = 0.0

    @property
    def in_a_row(self) -> int:
        return self.failures + self.held

    @property
    def is_hopeless(self) -> bool:
        return self.failures > MOST_FAILURES

    def why_stopped(self, refusal: SendRefused) -> str:
        return (
            f"its first message failed {self.failures} times in a row. {refusal} Fix"
            " the cause, or remove the message from the source. Then start the link."
        )

    def refused(self, hold: Hold | None, now: float) -> None:
        """Count a refusal, and set the time of the next try."""
        if hold is None:
            self.held, self.failures = 0, self.failures + 1
        else:
            self.held += 1
        self.again_at = now + doubled_s(self.held or self.failures, LONGEST_S)

    def left_s(self, now: float) -> float:
        """The time until the next try; not above 0: it may be tried now."""
        return self.again_at - now

    def succeeded(self) -> bool:
        """Begin to count anew; return whether there was a failure."""
        had = bool(self.in_a_row)
        self.failures = self.held = 0
        return had
