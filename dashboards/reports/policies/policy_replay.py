"""Simulate another redelivery policy for a message that failed.

This module needs neither Django nor Spark, so it runs on any Spark executor. The delay
and the disposition of each attempt come from the broker's own code
(``broker.settlement.redelivery_policy``).

The outcome of an attempt that was not made depends on its time:

    until the last recorded failure before any success        it fails
    from the first recorded success                           it succeeds
    between the two, or after the last failure of all         unknown

So the results are bounds: all unknown attempts fail, or all succeed. Deliveries of
resubmitted copies on the same queue count as deliveries of the message. All times are
in microseconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from broker.settlement.redelivery_policy import Redeliver, dispose

if TYPE_CHECKING:
    from pyarrow import RecordBatch

MOST = 1000  # simulated attempts; after them a message counts as still being tried
FOR_EVER = 2**62
MICROSECOND = timedelta(microseconds=1)
# Causes of dead letters that depend on the policy. No policy prevents the others.
BY_POLICY = (None, "MAX_DELIVERY_ATTEMPTS", "BACKOUT_THRESHOLD")
DEATHS = ("dead-lettered", "discarded")
RESCUED, DIED, LEFT = "rescued", "died", "left"


@dataclass(frozen=True)
class Policy:
    """The address settings that control redelivery."""

    max_delivery_attempts: int
    redelivery_delay_ms: int
    redelivery_delay_multiplier: float = 1.0
    redelivery_collision_avoidance_factor: float = 0.0
    max_redelivery_delay_ms: int | None = None
    dead_letter_address: str = "dead letters"  # any name: nothing is sent there

    @property
    def is_endless(self) -> bool:
        return self.max_delivery_attempts <= 0


class AttemptKnowledge(Enum):
    """The outcome of an attempt at some time, as far as it is known."""

    FAILS = auto()
    DIES = auto()  # the message dies under any policy
    SUCCEEDS = auto()
    UNKNOWN = auto()


class Try(NamedTuple):
    """A delivery whose end is recorded."""

    got_at: int
    ended_at: int
    outcome: str
    failed: bool
    cause: str | None
    due_at: int | None  # when the next delivery is due
    message_id: int = 0
    stay: int = 0

    @property
    def due(self) -> int:
        """The time from which the message could be got again."""
        return self.ended_at if self.due_at is None else self.due_at

    @property
    def took(self) -> int:
        return max(self.ended_at - self.got_at, 0)


@dataclass(frozen=True)
class Story:
    """The deliveries of one message on one queue, from its first failure."""

    message_id: int
    tries: Sequence[Try]  # deliveries of the stay in which the message first failed
    fails_through: int
    succeeds_from: int | None
    usual_took: int  # the time from get to failure of attempts that are not recorded
    usual_lag: int  # the time from due to get of attempts that are not recorded
    # the time when the message had left the queue, or when the record ends
    until: int = FOR_EVER

    def at(self, moment: int) -> AttemptKnowledge:
        """The outcome of an attempt that begins at a time."""
        if self.succeeds_from is not None and moment >= self.succeeds_from:
            return AttemptKnowledge.SUCCEEDS
        if self.dies_from is not None and moment >= self.dies_from:
            return AttemptKnowledge.DIES
        return (
            AttemptKnowledge.FAILS
            if moment <= self.fails_through
            else AttemptKnowledge.UNKNOWN
        )

    @cached_property
    def dies_from(self) -> int | None:
        """The time from which any attempt ends the message under any policy."""
        last = self.tries[-1]
        return last.got_at if is_final(last) else None

    def took(self, attempt: int) -> int:
        """How long an attempt takes to fail: as long as the recorded attempt did."""
        if attempt <= len(self.tries) and self.tries[attempt - 1].failed:
            return self.tries[attempt - 1].took
        return self.usual_took

    def lag(self, attempt: int) -> int:
        """The time from due to the next get after an attempt: as it was recorded."""
        if attempt < len(self.tries):
            return max(self.tries[attempt].got_at - self.tries[attempt - 1].due, 0)
        return self.usual_lag


class SimulatedOutcome(NamedTuple):
    """The outcome of a message, recorded or simulated."""

    end: str  # RESCUED, DIED, or LEFT: left the queue otherwise, or still being tried
    attempts: int
    later_us: int  # the time from the first get to the last
    failing_us: int  # total time of its failed attempts


# A function that returns a random number from -1 to 1 for an attempt.
Dice = Callable[[Story, Policy, int], float]


def is_final(last: Try) -> bool:
    """Whether this delivery would end the message under any policy: rejected, or
    unreadable.
    """
    return last.outcome in DEATHS and last.failed and last.cause not in BY_POLICY


def recorded(story: Story) -> SimulatedOutcome:
    """The recorded outcome."""
    first, last = story.tries[0], story.tries[-1]
    end = LEFT
    if not last.failed:
        end = RESCUED
    elif last.outcome in DEATHS:
        end = DIED
    held = sum(one.took for one in story.tries if one.failed)
    return SimulatedOutcome(end, len(story.tries), last.got_at - first.got_at, held)


def bounds(
    story: Story, policy: Policy | None
) -> tuple[SimulatedOutcome, SimulatedOutcome]:
    """The outcome if all unknown attempts fail, and if all succeed; without a policy,
    twice the recorded one."""
    if policy is None:
        return (recorded(story),) * 2
    most = replay(story, policy, hopeful=True)
    if story.at(story.tries[0].got_at + most.later_us) is not AttemptKnowledge.UNKNOWN:
        # No attempt with an unknown outcome was simulated, so both bounds are the same.
        return most, most
    return replay(story, policy, hopeful=False), most


def replay(
    story: Story, policy: Policy, *, hopeful: bool, dice: Dice | None = None
) -> SimulatedOutcome:
    """The outcome under another policy.

    Args:
        story: the recorded deliveries.
        policy: the policy to simulate.
        hopeful: whether unknown attempts succeed.
        dice: random numbers for collision avoidance; the default is ``spread``.
    """
    first = start = got_at = story.tries[0].got_at
    failing = attempts = 0
    end = LEFT
    while attempts < MOST and (not attempts or start < story.until):
        seen = story.at(start)
        if seen is AttemptKnowledge.UNKNOWN and not hopeful and goes_on(story, policy):
            break
        attempts, got_at = attempts + 1, start
        if seen is AttemptKnowledge.SUCCEEDS or (
            seen is AttemptKnowledge.UNKNOWN and hopeful
        ):
            end = RESCUED
            break
        took = story.took(attempts)
        failing += took
        after = wait(policy, attempts, (dice or spread)(story, policy, attempts))
        if seen is AttemptKnowledge.DIES or after is None:
            end = DIED
            break
        start += took + after + story.lag(attempts)
    return SimulatedOutcome(end, attempts, got_at - first, failing)


@lru_cache(maxsize=10_000)
def wait(policy: Policy, attempts: int, spread: float) -> int | None:
    """The delay after an attempt that failed; None if the message dies of it."""
    disposition = dispose(policy, attempts, spread, address="")
    if isinstance(disposition, Redeliver):
        return disposition.after // MICROSECOND
    return None


def goes_on(story: Story, policy: Policy) -> bool:
    """Whether the message would fail for ever if all unknown attempts fail."""
    return policy.is_endless and story.succeeds_from is None


def spread(story: Story, policy: Policy, attempt: int) -> float:
    """A random number for collision avoidance. It is always the same for a message and
    an attempt, so that chance makes no difference between two policies."""
    if not policy.redelivery_collision_avoidance_factor:
        return 0
    dice = random.Random(f"{story.message_id} {attempt}")  # noqa: S311  no secret
    return dice.uniform(-1, 1)


def stories_in(rows: RecordBatch) -> Iterator[Story]:
    """The stories in rows of ``what_if.stories``."""
    tries = rows["tries"]
    fields = dict(
        zip(tries.type.value_type.names, tries.flatten().flatten(), strict=True)
    )
    columns = (fields[name].to_pylist() for name in Try._fields)
    seen = list(map(Try._make, zip(*columns, strict=True)))
    ends = tries.value_lengths().to_pylist()
    others = (
        rows[one].to_pylist() for one in ("stay_ended_at", "usual_took", "usual_lag")
    )
    end = 0
    for many, *known in zip(ends, *others, strict=True):
        begin, end = end, end + many
        yield story_of(seen[begin:end], *known)


def story_of(
    seen: Sequence[Try], stay_ended_at: int | None, usual_took: int, usual_lag: int
) -> Story:
    """The story of the deliveries of a message and its copies, one of which failed."""
    opening = next(one for one in seen if one.failed)
    whose = (opening.message_id, opening.stay)
    later = [one for one in seen if one.got_at >= opening.got_at]
    tries = [one for one in later if (one.message_id, one.stay) == whose]
    succeeds_from = next((one.got_at for one in later if not one.failed), None)
    failures = [
        one.got_at
        for one in later
        if one.failed and (succeeds_from is None or one.got_at < succeeds_from)
    ]
    return Story(
        opening.message_id,
        tries,
        failures[-1],
        succeeds_from,
        usual_took=usual_took,
        usual_lag=usual_lag,
        until=until(tries[-1], stay_ended_at),
    )


def until(last: Try, stay_ended_at: int | None) -> int:
    """The time from which simulated gets are not possible: the message had left the
    queue otherwise, or it was due and no consumer got it any more."""
    if not last.failed or last.outcome in DEATHS:
        return FOR_EVER
    return last.due if stay_ended_at is None else min(last.due, stay_ended_at)
