"""Preview of a rules table: the effect that it would have on the letters of its queue
now.

Read-only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.utils.translation import gettext_noop

from broker.formats.sentences import say
from broker.models import Queue
from broker.operations.rules import attempts
from broker.operations.rules.dead_letter_facts import found_by, letters_on
from broker.operations.rules.first_match import RuleDecision, SkipReason, Tried, decide
from broker.operations.rules.matching import Letter, covers, matches
from broker.operations.rules.table import Action, Rule, Table
from broker.operations.rules.targets import target_of
from broker.sql import database_now

SCAN = 500
MOST = 5000  # most letters that a preview reads
SAMPLE = 5


@dataclass(slots=True)
class RulePreview:
    """The preview of one rule."""

    number: int  # number of the rule, from 1
    rule: Rule
    matched: int = 0  # letters that the rule matches, also if an earlier rule does
    first: int = 0  # letters that the rule matches, and no earlier rule
    acts: int = 0  # letters on which the rule would act now
    # Number of an earlier rule that matches all letters that this rule matches.
    covered_by: int | None = None
    # Number of letters that earlier rules match first, by number of the rule.
    taken_by: Counter[int] = field(default_factory=Counter)
    targets: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    sample: list[int] = field(default_factory=list)

    @property
    def ways(self) -> list[tuple[str, int]]:
        """The target queues with their number of letters; the largest number first."""
        return [(to, letters) for to, letters in self.targets.most_common() if to]

    @property
    def is_shadowed(self) -> bool:
        """Whether earlier rules match all letters that this rule matches."""
        return bool(self.matched) and not self.first


@dataclass(frozen=True, slots=True)
class TablePreview:
    """The preview of a table, over the letters of its queue."""

    rules: list[RulePreview]
    looked_at: int  # number of letters read
    is_limited: bool  # the limit was reached; the queue may have more dead letters
    unmatched: int  # letters that no rule matches
    waiting: int  # letters whose next attempt must wait for the interval
    used_up: int  # letters for which the attempts of all matching rules are used up
    # Messages that the rules leave on the queue, because no cause of their death is
    # recorded.
    unexplained: int = 0


def preview(table: Table, queue: Queue, *, now: datetime | None = None) -> TablePreview:
    """Preview a table on the letters of its queue.

    Raises:
        SearchTooLong: the database took too long for a filter of a rule.
    """
    at = now or database_now()
    shown = [RulePreview(n, rule) for n, rule in enumerate(table.rules, 1)]
    left: Counter[SkipReason | None] = Counter()
    looked_at = 0
    unexplained: list[int] = []
    for letter, tried, found in letters_read(table, queue, at, unexplained):
        looked_at += 1
        decision = decide(table, letter, tried, at, found)
        left[decision.why] += 1
        count(shown, letter, decision, found)
    for one in shown:
        one.covered_by = covering(table, one.number)
        one.warnings = list(warnings_of(one, queue))
    return TablePreview(
        shown,
        looked_at,
        looked_at + len(unexplained) >= MOST,
        left[SkipReason.NO_RULE],
        left[SkipReason.TOO_SOON],
        left[SkipReason.USED_UP] + left[SkipReason.CEILING],
        len(unexplained),
    )


def letters_read(
    table: Table, queue: Queue, at: datetime, unexplained: list[int]
) -> Iterator[tuple[Letter, Tried | None, set[str]]]:
    """The letters that a preview reads, with their attempts and matching filters.
    Messages that are no letters are added to ``unexplained``."""
    names: Mapping[int, str] = {queue.pk: queue.name}
    after = looked_at = 0
    while looked_at < MOST:
        page = letters_on(queue.pk, after=after, limit=SCAN)
        letters = page.letters
        unexplained += page.unexplained
        tried = attempts.tried_on(letters, queue.pk)
        found = found_by(table.rules, letters, names, at)
        for letter in letters:
            yield letter, tried.get(letter.message_id), found[letter.message_id]
        if len(page) < SCAN:
            return
        looked_at += len(page)
        after = page.last_id


def count(
    shown: list[RulePreview], letter: Letter, decision: RuleDecision, found: set[str]
) -> None:
    """Count a letter in the previews of the rules that match it."""
    first: int | None = None
    for place, one in enumerate(shown):
        if not matches(one.rule, letter, found):
            continue
        one.matched += 1
        if len(one.sample) < SAMPLE:
            one.sample.append(letter.message_id)
        if first is None:
            first = one.number
            one.first += 1
        else:
            one.taken_by[first] += 1
        if decision.rule == place:
            one.acts += 1
            one.targets[target_of(one.rule, letter).queue] += 1


def covering(table: Table, number: int) -> int | None:
    """The number of the first earlier rule that covers a rule, if there is one."""
    later = table.rules[number - 1]
    for place, earlier in enumerate(table.rules[: number - 1], 1):
        if covers(earlier, later):
            return place
    return None


def warnings_of(one: RulePreview, queue: Queue) -> Iterator[str]:
    """Warnings about a rule that an operator should see before the rule acts."""
    rule = one.rule
    if rule.action is Action.FWD and not rule.forward_queue.startswith("&"):
        yield from warnings_of_name(rule.forward_queue)
    manager = rule.forward_manager
    if manager and not manager.startswith("&") and manager != settings.BROKER_NAME:
        yield say(
            gettext_noop(
                "FWDQM(%(manager)s) is no name of this broker, which is %(broker)s: the"
                " rule always fails, and the next one that matches holds."
            ),
            manager=manager,
            broker=settings.BROKER_NAME,
        )
    if rule.forward_queue == "&DESTQ" and rule.keeps_header:
        yield gettext_noop(
            "Letters go back with their MQDLH before them; HEADER(NO) takes it away."
        )
    if queue.name in one.targets:
        yield say(
            gettext_noop(
                "Some would go to %(queue)s, where they lie: for these it fails."
            ),
            queue=queue.name,
        )


def warnings_of_name(name: str) -> Iterator[str]:
    if Queue.objects.filter(name=name).exists():
        return
    alike = Queue.objects.filter(name__iexact=name).values_list("name", flat=True)
    text = gettext_noop("There is no queue %(queue)s: the rule always fails.")
    if alike:
        text = gettext_noop(
            "There is no queue %(queue)s: the rule always fails. Write"
            " FWDQ('%(alike)s'), in quotes."
        )
    yield say(text, queue=name, alike=alike and alike[0])
