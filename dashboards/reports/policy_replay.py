"""What would have become of a message that failed, under another redelivery policy.

Pure: neither Django nor Spark, so that it runs wherever Spark computes. Who waits how
long, and who is given up, is the broker's own rule
(``broker.settlement.redelivery_policy``).

Whether an attempt that nobody made would have failed goes by its time:

    up to the last failure that was seen before any success   it fails
    from the first success that was seen on                   it succeeds
    between the two, or after the last failure of all         nobody knows

so what is found are bounds: once all that nobody knows fails, once it succeeds. What
was seen of a message's resubmitted copies, on the same queue, is seen of it. All times
are in microseconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from typing import Any

from broker.settlement.redelivery_policy import Redeliver, dispose

MOST = 1000  # attempts that are followed; then a message is said to go on
FOR_EVER = 2**62
MICROSECOND = timedelta(microseconds=1)
# Of deaths: the attempts were used up. Of all others no policy could have saved it.
BY_POLICY = (None, "MAX_DELIVERY_ATTEMPTS", "BACKOUT_THRESHOLD")
DEATHS = ("dead-lettered", "discarded")
RESCUED, DIED, LEFT = "rescued", "died", "left"


@dataclass(frozen=True)
class Policy:
    """Settings of an address, as far as redelivery goes by them."""

    max_delivery_attempts: int
    redelivery_delay_ms: int
    redelivery_delay_multiplier: float = 1.0
    redelivery_collision_avoidance_factor: float = 0.0
    max_redelivery_delay_ms: int | None = None
    dead_letter_address: str = "dead letters"  # where they go is all the same here

    @property
    def is_endless(self) -> bool:
        return self.max_delivery_attempts <= 0


class AttemptKnowledge(Enum):
    """What is known of an attempt at some time."""

    FAILS = auto()
    DIES = auto()  # whatever the policy
    SUCCEEDS = auto()
    UNKNOWN = auto()


@dataclass(frozen=True)
class Try:
    """A delivery that was seen to its end."""

    got_at: int
    ended_at: int
    outcome: str
    failed: bool
    cause: str | None
    due_at: int | None  # again

    @property
    def due(self) -> int:
        """From when on it could be got again."""
        return self.ended_at if self.due_at is None else self.due_at

    @property
    def took(self) -> int:
        return max(self.ended_at - self.got_at, 0)


@dataclass(frozen=True)
class Story:
    """What is known of one message on one queue, from its first failure on."""

    message_id: int
    tries: Sequence[Try]  # of the stay on which it first failed
    fails_through: int
    succeeds_from: int | None
    usual_took: int  # from got to failed, where that was not seen
    usual_lag: int  # from due to got, where that was not seen
    until: int = FOR_EVER  # then it had gone another way, or the record ends

    def at(self, moment: int) -> AttemptKnowledge:
        """What an attempt that began then would have come to."""
        if self.succeeds_from is not None and moment >= self.succeeds_from:
            return AttemptKnowledge.SUCCEEDS
        last = self.tries[-1]
        if is_final(last) and moment >= last.got_at:
            return AttemptKnowledge.DIES
        return (
            AttemptKnowledge.FAILS
            if moment <= self.fails_through
            else AttemptKnowledge.UNKNOWN
        )

    def took(self, attempt: int) -> int:
        """How long an attempt is held before it fails: as long as that one was."""
        if attempt <= len(self.tries) and self.tries[attempt - 1].failed:
            return self.tries[attempt - 1].took
        return self.usual_took

    def lag(self, attempt: int) -> int:
        """How long it is due after an attempt before it is got: as it was."""
        if attempt < len(self.tries):
            return max(self.tries[attempt].got_at - self.tries[attempt - 1].due, 0)
        return self.usual_lag


@dataclass(frozen=True)
class Fate:
    """What became of a message, or would have."""

    end: str  # RESCUED, DIED, LEFT: gone another way, or still being tried
    attempts: int
    later_us: int  # from the first get to the last
    failing_us: int  # that its consumers held it in vain


Dice = Callable[[Story, Policy, int], float]  # for an attempt, from -1 to 1


def is_final(last: Try) -> bool:
    """Whether it ended its message whatever the policy: rejected, or unreadable."""
    return last.outcome in DEATHS and last.failed and last.cause not in BY_POLICY


def recorded(story: Story) -> Fate:
    """What became of it."""
    first, last = story.tries[0], story.tries[-1]
    end = LEFT
    if not last.failed:
        end = RESCUED
    elif last.outcome in DEATHS:
        end = DIED
    held = sum(one.took for one in story.tries if one.failed)
    return Fate(end, len(story.tries), last.got_at - first.got_at, held)


def replay(
    story: Story, policy: Policy, *, hopeful: bool, dice: Dice | None = None
) -> Fate:
    """What would have become of it.

    Args:
        story: what is known.
        policy: that had held.
        hopeful: whether attempts of which nobody knows succeed.
        dice: of collision avoidance; ``spread`` when not given.
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
        fell = (dice or spread)(story, policy, attempts)
        disposition = dispose(policy, attempts, fell, address="")
        if seen is AttemptKnowledge.DIES or not isinstance(disposition, Redeliver):
            end = DIED
            break
        start += took + disposition.after // MICROSECOND + story.lag(attempts)
    return Fate(end, attempts, got_at - first, failing)


def goes_on(story: Story, policy: Policy) -> bool:
    """Whether it would fail for ever, if what nobody knows fails."""
    return policy.is_endless and story.succeeds_from is None


def spread(story: Story, policy: Policy, attempt: int) -> float:
    """The dice of collision avoidance: of a message and an attempt always the same, so
    that two policies are told apart by what they say, and not by chance."""
    if not policy.redelivery_collision_avoidance_factor:
        return 0
    dice = random.Random(f"{story.message_id} {attempt}")  # noqa: S311  no secret
    return dice.uniform(-1, 1)


def story_of(row: Mapping[str, Any]) -> Story:
    """A row of ``what_if.stories``: its tries are in order, and one at least failed."""
    seen = row["tries"]
    opening = next(one for one in seen if one["failed"])
    whose = (opening["message_id"], opening["stay"])
    tries = [
        told(one)
        for one in seen
        if (one["message_id"], one["stay"]) == whose
        and one["got_at"] >= opening["got_at"]
    ]
    later = [one for one in seen if one["got_at"] >= opening["got_at"]]
    succeeds_from = next((o["got_at"] for o in later if not o["failed"]), None)
    failures = [
        one["got_at"]
        for one in later
        if one["failed"] and (succeeds_from is None or one["got_at"] < succeeds_from)
    ]
    return Story(
        opening["message_id"],
        tries,
        failures[-1],
        succeeds_from,
        usual_took=row["usual_took"],
        usual_lag=row["usual_lag"],
        until=until(tries[-1], opening["stay_ended_at"]),
    )


def told(one: Mapping[str, Any]) -> Try:
    names = ("got_at", "ended_at", "outcome", "failed", "cause", "due_at")
    return Try(**{name: one[name] for name in names})


def until(last: Try, stay_ended_at: int | None) -> int:
    """From when on nobody could have got it, who did not: it had gone another way, or
    from then on nobody got it though it was due."""
    if not last.failed or last.outcome in DEATHS:
        return FOR_EVER
    return last.due if stay_ended_at is None else min(last.due, stay_ended_at)
