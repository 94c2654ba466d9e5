"""Which rule holds for a letter: pure.

Source:
    IBM MQ documentation, "How the DLQ rules table is processed": the first rule that
    matches is tried as often as its RETRY says; then the next that matches. Where none
    is left, the letter is ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from broker.operations.rules.matching import Letter, matches
from broker.operations.rules.table import Action, Table

CEILING = 100  # attempts on one letter, through all its lives, by all rules together
SHORTEST = timedelta(seconds=10)  # between two attempts of one rule


@dataclass(frozen=True, slots=True)
class Tried:
    """How often rules were tried on a letter, by their keys, and when the last time."""

    attempts: Mapping[str, int]
    at: datetime


class SkipReason(Enum):
    """Why nothing is done with a letter now."""

    NO_RULE = auto()
    IGNORED = auto()
    USED_UP = auto()
    CEILING = auto()
    TOO_SOON = auto()


@dataclass(frozen=True, slots=True)
class RuleDecision:
    """The rule that is tried, by its place in the table; or why none is."""

    rule: int | None
    why: SkipReason | None = None


def decide(
    table: Table,
    letter: Letter,
    tried: Tried | None,
    now: datetime,
    found: Collection[str] = (),
) -> RuleDecision:
    """What to do with a letter.

    The attempts are those of the letter and of its earlier lives: so a letter that
    comes back each time is not sent on for ever, whatever the rules are.

    Args:
        table: the rules.
        letter: what is known of it.
        tried: what was done before; None if nothing was.
        now: when.
        found: the filters that find it.
    """
    attempts = tried.attempts if tried else {}
    why = SkipReason.NO_RULE
    for number, rule in enumerate(table.rules):
        if not matches(rule, letter, found):
            continue
        if rule.action is Action.IGNORE:
            return RuleDecision(None, SkipReason.IGNORED)
        count = attempts.get(rule.key, 0)
        if count >= rule.retry:
            why = SkipReason.USED_UP
            continue
        if sum(attempts.values()) >= CEILING:
            return RuleDecision(None, SkipReason.CEILING)
        if count and tried and now < tried.at + interval(table):
            return RuleDecision(None, SkipReason.TOO_SOON)
        return RuleDecision(number)
    return RuleDecision(None, why)


def interval(table: Table) -> timedelta:
    """Between two attempts of one rule."""
    return max(timedelta(seconds=table.control.retry_interval_s), SHORTEST)
