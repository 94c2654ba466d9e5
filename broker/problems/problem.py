"""One problem, the bound beyond which something is one, and a row of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from broker.formats.wildcards import matches
from broker.models import AlertRule

if TYPE_CHECKING:
    from broker.problems.readings import Readings

HOUR_S = 3600
Name = AlertRule.Condition


@dataclass(frozen=True, slots=True)
class ProblemState:
    """One problem that exists now; condition and subject identify it."""

    columns: ClassVar = ("condition", "since", "sentence", "remedy")

    condition: str
    subject: str
    count: int  # messages, letters, seconds or percent, as the condition counts
    sentence: str
    remedy: str  # what to do
    urgent: bool  # it cannot wait until the morning
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of one subject. Condition and subject identify it everywhere."""

    subject: str
    text: str  # a sentence; may contain untrusted names
    value: int = 1  # messages, letters, seconds …: the worse, the more
    queues: tuple[str, ...] = ()  # whoever may inquire them may know of it
    of: str = ""  # the name that the pattern of a rule must match; empty: any does
    since: datetime | None = None
    is_urgent: bool = True  # it cannot wait until the morning
    key: tuple[str | int, ...] = ()  # of its object, for the page
    fingerprint: str = ""  # of dead letters
    name: str = ""  # what its sentence calls the subject, if not so
    code: str = ""  # stable, for programs, where a condition has several
    remedy: str = ""  # what to do; filled in from the table
    condition: str = ""  # filled in from the table

    @property
    def parts(self) -> tuple[str, str, str]:
        """The sentence around the name in it; all of it is the name if it has none."""
        name = self.name or self.of or self.subject
        if not name or name not in self.text:
            return "", self.text, ""
        if self.text.startswith(name):
            return "", name, self.text.removeprefix(name)
        return self.text.rpartition(name)

    @property
    def state(self) -> ProblemState:
        return ProblemState(
            *(self.condition, self.subject, self.value, self.text, self.remedy),
            *(self.is_urgent, self.since),
        )


@dataclass(frozen=True, slots=True)
class Bound:
    """From where on something is a problem: by default, or as a rule says."""

    queues: str = "#"  # a pattern
    threshold: int = 0  # 0: as the condition itself says
    within_s: int = HOUR_S

    @classmethod
    def of(cls, rule: AlertRule) -> Bound:
        return cls(rule.queues, rule.threshold, rule.within_s)


@dataclass(frozen=True, slots=True)
class Condition:
    """A row of the table. Metrics and documents call it by its name."""

    name: Name
    title: str  # in two or three words
    find: Callable[[Readings, Bound], Iterator[Problem]]
    page: str  # where something is done about it; who has pages knows the URL
    when: str  # it is one, in words, with {count}, {time} and {within} of a rule
    remedy: str  # what to do, a sentence
    others: str  # what more of them are called, with {s}
    since: str = ""  # introduces the time of its problems
    threshold: tuple[int, int] | None = None  # least and most of a rule, if it has one
    is_by_rule: bool = False  # only a rule says how much is too much
    permission: str = ""  # to know of it, besides queues
    is_of_all_queues: bool = False  # to know of it, all queues have to be seen
    needs_each_queue: bool = False  # … or each of its own; otherwise one of them

    def found(self, seen: Readings, bound: Bound | None = None) -> Iterator[Problem]:
        """The problems beyond a bound; by default beyond that of the table."""
        bound = bound or Bound()
        least = bound.threshold if self.threshold else 0
        for one in self.find(seen, bound):
            is_one = not one.of or matches(bound.queues, one.of)
            if is_one and one.value >= least:
                remedy = one.remedy or self.remedy
                yield replace(one, condition=self.name.value, remedy=remedy)
