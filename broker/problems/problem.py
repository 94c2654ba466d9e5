"""The classes of a problem, of a bound, and of a row of the table of conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from broker.formats.sentences import translated
from broker.formats.wildcards import matches
from broker.models import AlertRule

if TYPE_CHECKING:
    from broker.problems.readings import Readings

EVERY = "#"  # the pattern of all names
LONGEST = 500  # most characters of the text and the subject of an alert
HOUR_S = 3600
Name = AlertRule.Condition


@dataclass(frozen=True, slots=True)
class ProblemState:
    """One present problem; condition and subject identify it."""

    columns: ClassVar = ("condition", "since", "sentence", "remedy")

    condition: str
    subject: str
    count: int  # messages, letters, seconds or percent, as the condition counts
    sentence: str
    remedy: str  # what to do
    urgent: bool  # whether it cannot wait until the morning
    since: datetime | None


@dataclass(slots=True)
class Problem:
    """One problem of one subject. Condition and subject identify it everywhere.

    It is not frozen: there may be thousands, and copying each would take longer than
    to find it.
    """

    subject: str
    text: str  # a sentence; may contain untrusted names
    value: int = 1  # messages, letters, seconds …; a larger value is worse
    queues: tuple[str, ...] = ()  # users who may inquire its queues see it
    # A rule finds the problem if its pattern matches this name; empty: always.
    of: str = ""
    since: datetime | None = None
    is_urgent: bool = True  # whether it cannot wait until the morning
    key: tuple[str | int, ...] = ()  # key of the object, for the URL of its page
    fingerprint: str = ""  # fingerprint of dead letters; else empty
    name: str = ""  # name in ``text``, if it is neither ``of`` nor ``subject``
    # A stable code for programs, if the condition finds several kinds of problems.
    code: str = ""
    remedy: str = ""  # what to do; if empty, filled in from the table
    condition: str = ""  # name of its condition; filled in from the table

    @property
    def parts(self) -> tuple[str, str, str]:
        """The text before the name, the name, and the text after it, in the language of
        the page. A text without the name is all in the second part."""
        text = translated(self.text)
        name = translated(self.name) or self.of or self.subject
        if not name or name not in text:
            return "", text, ""
        if text.startswith(name):
            return "", name, text.removeprefix(name)
        return text.rpartition(name)

    @property
    def state(self) -> ProblemState:
        return ProblemState(
            *(self.condition, self.subject, self.value, self.text, self.remedy),
            *(self.is_urgent, self.since),
        )


@dataclass(frozen=True, slots=True)
class Bound:
    """The bound from which something is a problem: the default, or that of a rule."""

    queues: str = EVERY  # pattern of the names of queues
    threshold: int = 0  # 0: the condition's own threshold
    within_s: int = HOUR_S

    @classmethod
    def of(cls, rule: AlertRule) -> Bound:
        return cls(rule.queues, rule.threshold, rule.within_s)


@dataclass(frozen=True, slots=True)
class Condition:
    """A row of the table. Metrics and documents call it by its name."""

    name: Name
    title: str  # two or three words
    find: Callable[[Readings, Bound], Iterator[Problem]]
    # Name of the kind of page on which the problem is solved; the console has the URLs.
    page: str
    # When something is a problem, in words. {count}, {time} and {within} stand for
    # values of a rule.
    when: str
    remedy: str  # what to do, a sentence
    since: str = ""  # words before the time at which a problem began
    # The range of thresholds that a rule can have; None: rules have no threshold.
    threshold: tuple[int, int] | None = None
    # Without a rule, nothing is a problem, because only rules have a threshold.
    is_by_rule: bool = False
    # A user needs this permission to see the problems, besides authorities on queues.
    permission: str = ""
    # To see the problems, a user must be able to inquire every queue of the broker.
    is_of_all_queues: bool = False
    # To see a problem, a user must be able to inquire all queues of the problem;
    # otherwise, one of them.
    needs_each_queue: bool = False

    def found(self, seen: Readings, bound: Bound | None = None) -> Iterator[Problem]:
        """The problems beyond a bound; by default beyond that of the table."""
        bound = bound or Bound()
        least = bound.threshold if self.threshold else 0
        is_of_all = bound.queues == EVERY
        for one in self.find(seen, bound):
            is_one = is_of_all or not one.of or matches(bound.queues, one.of)
            if is_one and one.value >= least:
                one.condition = self.name.value
                one.remedy = one.remedy or self.remedy
                yield one
