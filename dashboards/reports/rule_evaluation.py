"""Which rule of a table would have matched a past dead letter, by the broker's code.

Of a past dead letter the archive has the origin queue, the cause and the fingerprint.
If a rule needs another field, its result is unknown, and neither that rule nor the
later ones are evaluated. Matching itself is ``broker.operations.rules.matching``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from broker.errors import BrokerError
from broker.errors.mq_codes import Reason
from broker.models import DeadLetter
from broker.operations.rules import Action, Rule, Table, parsed, read, rules_of
from broker.operations.rules.matching import Letter, fits_one
from broker.operations.rules.printer import rule_words
from dashboards.reports.errors import CannotRun

# Outcomes of dead letters.
SUCCEEDED, DIED_AGAIN, RESUBMITTED = "succeeded", "dead-lettered again", "resubmitted"
MOVED, REMOVED, LEFT, OTHERWISE = "moved", "removed", "left", "otherwise"
SENT_BACK = (SUCCEEDED, DIED_AGAIN, RESUBMITTED)
DONE_BY = {
    Action.RETRY: SENT_BACK,
    Action.FWD: (MOVED,),
    Action.DISCARD: (REMOVED,),
    Action.IGNORE: (LEFT,),
}
LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class LetterGroup:
    """Letters with the same fields and outcome in the archive."""

    origin: str  # the queue where the letters were dead-lettered
    cause: str | None
    fingerprint: str | None
    done: str  # the outcome of these letters
    letters: int

    @property
    def letter(self) -> Letter:
        """The known fields, as rules need them. By IBM MQ's rules a letter has a header
        with the reason, which the archive does not have completely."""
        by_ibm = self.cause is None or self.cause in DeadLetter.IBM_CAUSES
        texts = {
            "DESTQ": self.origin,
            "DESTQM": settings.BROKER_NAME,
            "FINGERPRINT": self.fingerprint or "",
        }
        numbers = {} if by_ibm else {"REASON": int(Reason.NONE)}
        return Letter(0, 0, LONG_AGO, self.origin, texts, numbers)


def verdict(rule: Rule, letter: Letter) -> bool | None:
    """Whether a rule matches; None if the known fields are not enough to decide."""
    known = letter.texts.keys() | letter.numbers.keys()
    fit = [
        fits_one(key, value, letter, ()) for key, value in rule.patterns if key in known
    ]
    if not all(fit):
        return False
    return True if len(fit) == len(rule.patterns) else None


def met(table: Table, letter: Letter) -> tuple[int, bool]:
    """The number of the first rule that matches or may match, and whether it matches
    for certain. The number after the last rule means that no rule matches."""
    for number, rule in enumerate(table.rules, 1):
        judged = verdict(rule, letter)
        if judged is not False:
            return number, bool(judged)
    return len(table.rules) + 1, True


def table_of(queue: str, text: str) -> Table:
    """The rules in a text; without a text, the rules of the queue.

    Raises:
        CannotRun: the text cannot be parsed, or there is no text and the queue has no
            rules.
    """
    try:
        return read(text, queue=queue) if text.strip() else parsed(rules_of(queue))
    except BrokerError as error:
        raise CannotRun(str(error)) from error


def judged(table: Table, groups: Iterable[LetterGroup]) -> Iterator[dict[str, Any]]:
    """Rows of the report: one for each rule, and one for letters without a rule."""
    found: dict[int, list[tuple[LetterGroup, bool]]] = {}
    for group in groups:
        number, is_sure = met(table, group.letter)
        found.setdefault(number, []).append((group, is_sure))
    for number in range(1, len(table.rules) + 2):
        rule = table.rules[number - 1] if number <= len(table.rules) else None
        yield {
            "number": number,
            "rule": " ".join(rule_words(rule)) if rule else "no rule",
            "action": str(rule.action) if rule else "none",
            **counted(rule, found.get(number, [])),
        }


def counted(
    rule: Rule | None, met: Iterable[tuple[LetterGroup, bool]]
) -> dict[str, int]:
    """The number of letters that a rule matched, by outcome."""
    groups = list(met)
    sure = [group for group, is_sure in groups if is_sure]

    def became(*done: str) -> int:
        return sum(group.letters for group in sure if group.done in done)

    action = rule.action if rule else Action.IGNORE
    matched = sum(group.letters for group in sure)
    agreed = became(*DONE_BY[action])
    takes_away = action in (Action.DISCARD, Action.FWD)
    return {
        "matched": matched,
        "unjudged": sum(group.letters for group, is_sure in groups if not is_sure),
        "succeeded": became(SUCCEEDED),
        "died_again": became(DIED_AGAIN),
        "underway": became(RESUBMITTED),
        "moved": became(MOVED),
        "removed": became(REMOVED),
        "still_there": became(LEFT),
        "otherwise": became(OTHERWISE),
        "agreed": agreed,
        "differed": matched - agreed,
        "prevented": became(SUCCEEDED) if takes_away else 0,
        "brought_most": matched - agreed if action is Action.RETRY else 0,
    }
