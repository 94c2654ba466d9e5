"""Decide which rule applies to a letter. Pure functions.

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

CEILING = 100  # most attempts on one letter and its copies, by all rules together
SHORTEST = timedelta(seconds=10)  # shortest time between two attempts of one rule


@dataclass(frozen=True, slots=True)
class Tried:
    """The attempts of rules on a letter, by the key of the rule, and the time of the
    last one."""

    attempts: Mapping[str, int]
    at: datetime


class SkipReason(Enum):
    """The reason why no rule acts on a letter now."""

    NO_RULE = auto()
    IGNORED = auto()
    USED_UP = auto()
    CEILING = auto()
    TOO_SOON = auto()


@dataclass(frozen=True, slots=True)
class RuleDecision:
    """The rule to apply, by its index in the table; or the reason why none is
    applied."""

    rule: int | None
    why: SkipReason | None = None


def decide(
    table: Table,
    letter: Letter,
    tried: Tried | None,
    now: datetime,
    found: Collection[str] = (),
) -> RuleDecision:
    """Decide which rule to apply to a letter.

    The attempts include those on earlier dead letters of the same message. So a message
    that fails each time does not loop for ever, whatever the rules are.

    Args:
        table: the rules.
        letter: the facts of the letter.
        tried: the attempts before; None if there are none.
        now: the current time.
        found: the filters that match the letter.
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
    """The time between two attempts of one rule."""
    return max(timedelta(seconds=table.control.retry_interval_s), SHORTEST)
