"""All redelivery delays of a message that fails at every delivery, until the last.

Pure functions; ``redelivery_policy.redelivery_delay`` computes each delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from broker.models import AddressSetting
from broker.settlement.redelivery_policy import longest_delay_ms, redelivery_delay

MOST = 12  # most steps that are shown
COUNTED = 1000  # most steps that are added up one by one
ZERO = timedelta(0)


@dataclass(frozen=True, slots=True)
class Span:
    """A delay with its shortest and longest value, as collision avoidance varies it."""

    shortest: timedelta
    usual: timedelta  # the delay without collision avoidance
    longest: timedelta

    def __add__(self, other: Span) -> Span:
        return Span(
            self.shortest + other.shortest,
            self.usual + other.usual,
            self.longest + other.longest,
        )

    def times(self, count: int) -> Span:
        return Span(self.shortest * count, self.usual * count, self.longest * count)

    @property
    def is_spread(self) -> bool:
        return self.shortest < self.longest


NOTHING = Span(ZERO, ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class RedeliveryStep:
    """The delay after one failed delivery."""

    attempt: int  # number of the failed delivery, from 1
    wait: Span
    total: Span  # sum of the delays since the first failure, including this delay


@dataclass(frozen=True, slots=True)
class Staircase:
    """All delays until the last delivery; only the first delays if there are many."""

    steps: Sequence[RedeliveryStep]
    # Number of the delivery after which there is no other; None: no limit.
    limit: int | None
    left: int | None  # steps before the end that are not shown; None: there is no end
    total: Span | None  # sum of all delays; None: no end, or too many steps to add up
    # Length of every delay after the shown steps; None: their lengths differ.
    stays_at: timedelta | None

    @property
    def is_flat(self) -> bool:
        """Whether all delays are zero."""
        return all(step.wait == NOTHING for step in self.steps)

    @property
    def is_spread(self) -> bool:
        """Whether collision avoidance varies any delay."""
        return any(step.wait.is_spread for step in self.steps)


def staircase(settings: AddressSetting, *, most: int = MOST) -> Staircase:
    """The delays that the settings of an address give.

    Args:
        settings: the merged settings; attempts of 0 and below mean no limit.
        most: the largest number of steps to show.
    """
    attempts = settings.max_delivery_attempts or 0
    limit = attempts if attempts > 0 else None
    waits = most if limit is None else min(most, limit - 1)
    steps: list[RedeliveryStep] = []
    total = NOTHING
    for attempt in range(1, waits + 1):
        wait = wait_after(settings, attempt)
        total += wait
        steps.append(RedeliveryStep(attempt, wait, total))
    return Staircase(
        steps,
        limit,
        left=None if limit is None else limit - 1 - waits,
        total=None if limit is None else added_up(settings, limit - 1),
        stays_at=settled(settings, waits + 1),
    )


def wait_after(settings: AddressSetting, attempt: int) -> Span:
    """The delay after a failed delivery, from the shortest to the longest."""
    shortest, usual, longest = (
        redelivery_delay(settings, attempt, spread) for spread in (-1, 0, 1)
    )
    return Span(shortest, usual, longest)


def added_up(settings: AddressSetting, waits: int) -> Span | None:
    """The sum of all delays; None if there are too many, and their length still
    changes."""
    total = NOTHING
    for attempt in range(1, min(waits, COUNTED) + 1):
        total += wait_after(settings, attempt)
    if waits <= COUNTED:
        return total
    if settled(settings, COUNTED + 1) is None:
        return None
    return total + wait_after(settings, COUNTED + 1).times(waits - COUNTED)


def settled(settings: AddressSetting, attempt: int) -> timedelta | None:
    """The length of this delay and of all later ones; None if they differ."""
    wait = wait_after(settings, attempt)
    multiplier = settings.redelivery_delay_multiplier or 1
    cap = timedelta(milliseconds=longest_delay_ms(settings))
    at_cap = wait.shortest == cap and multiplier >= 1
    if at_cap or multiplier == 1 or wait == NOTHING:
        return wait.usual
    return None
