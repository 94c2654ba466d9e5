"""Which rule of a table a dead letter of long ago would have met; the broker's own way.

Of a letter that is gone the archive keeps where it died, of what, and its group. What
else a rule asks of it, nobody can say any more; then neither it nor any later rule is
judged. The rest is ``broker.operations.rules.matching``.
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
from dashboards.reports.errors import ReportError

# What became of a letter.
SUCCEEDED, DIED_AGAIN, RESUBMITTED = "succeeded", "died again", "resubmitted"
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
    """Letters of which the archive knows the same."""

    origin: str  # the queue they died on
    cause: str | None
    fingerprint: str | None
    done: str  # what became of them
    letters: int

    @property
    def letter(self) -> Letter:
        """What is known, as rules ask for it. By IBM MQ's rules a letter has a header
        that says why, of which the archive has not got all."""
        by_ibm = self.cause is None or self.cause in DeadLetter.IBM_CAUSES
        texts = {
            "DESTQ": self.origin,
            "DESTQM": settings.BROKER_NAME,
            "FINGERPRINT": self.fingerprint or "",
        }
        numbers = {} if by_ibm else {"REASON": int(Reason.NONE)}
        return Letter(0, 0, LONG_AGO, self.origin, texts, numbers)


def verdict(rule: Rule, letter: Letter) -> bool | None:
    """Whether a rule matches; None if that cannot be said of what is known."""
    known = letter.texts.keys() | letter.numbers.keys()
    fit = [
        fits_one(key, value, letter, ()) for key, value in rule.patterns if key in known
    ]
    if not all(fit):
        return False
    return True if len(fit) == len(rule.patterns) else None


def met(table: Table, letter: Letter) -> tuple[int, bool]:
    """The first rule that matches, or may; and whether it does. The number after the
    last is of those that no rule is for."""
    for number, rule in enumerate(table.rules, 1):
        judged = verdict(rule, letter)
        if judged is not False:
            return number, bool(judged)
    return len(table.rules) + 1, True


def table_of(queue: str, text: str) -> Table:
    """The rules of a text; without one, those that the queue has.

    Raises:
        ReportError: the text cannot be read; or there is none, and the queue has none.
    """
    try:
        return read(text, queue=queue) if text.strip() else parsed(rules_of(queue))
    except BrokerError as error:
        raise ReportError(str(error)) from error


def judged(table: Table, groups: Iterable[LetterGroup]) -> Iterator[dict[str, Any]]:
    """Rows of the report: one for each rule, and one for what none is for."""
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
    """How many letters met a rule, and what became of them."""
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
