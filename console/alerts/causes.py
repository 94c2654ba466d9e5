"""What is wrong now, a row for each cause, with the alerts about it.

Overview, the page Alerts and the badge in the navigation count the same rows. The table
of conditions finds the problems (``broker.problems``); here they get their pages.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import uuid4
from zlib import crc32

from django.core.cache import cache as kept
from django.utils.translation import gettext, ngettext

from broker.alerts import sight
from broker.formats.quantities import write_count
from broker.models import Alert, AlertRule
from broker.problems.causes import GROUP, QUEUE, Cause, cause_of
from broker.problems.conditions import table
from broker.problems.of_links import RETRIES
from broker.problems.problem import Name, Problem
from broker.problems.readings import Readings
from broker.security.authorities import GrantedAuthorities, Principal
from console.alerts.places import PAGES, STATES, of_alert
from dashboards.live import cache, problems

KEY = "console.causes"
STAMP = "console.causes.stamp"  # counts of before it are not shown
KEPT_S = 5
NAMED = 2  # origins of a group that its sentence names besides the first
Found = tuple[list[Problem], list[Alert]]


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A cause as pages show it, with all its problems and alerts."""

    cause: Cause
    problems: Sequence[Problem]  # the most urgent first
    alerts: Sequence[Alert]  # that fire or are acknowledged, the worst first

    @property
    def key(self) -> str:
        """An identifier that stays the same when the sentence changes."""
        return f"{crc32(' '.join(self.cause).encode()):08x}"

    @property
    def firing(self) -> list[Alert]:
        return [one for one in self.alerts if one.state == Alert.State.FIRING]

    @property
    def rules(self) -> list[Alert]:
        """One alert of each rule: of those that fire, if any does."""
        return list({one.rule_name: one for one in reversed(self.alerts)}.values())[
            ::-1
        ]

    @property
    def numbers(self) -> str:
        """The numbers of the alerts that fire, for the form that acknowledges them."""
        return " ".join(str(one.pk) for one in self.firing)

    @property
    def is_acknowledged(self) -> bool:
        return bool(self.alerts) and not self.firing

    @property
    def is_urgent(self) -> bool:
        """Whether it cannot wait. If an alert fires, somebody has been called; if all
        are acknowledged, somebody sees to it."""
        if self.alerts:
            return not self.is_acknowledged
        return any(one.is_urgent for one in self.problems)

    @property
    def problem(self) -> Problem:
        """The most urgent of its problems; if none is found, as it has just gone or by
        the bound of a rule alone, what the alert tells."""
        if self.problems:
            return self.problems[0]
        one = self.alerts[0]
        return Problem(one.subject, one.text, one.value, condition=one.condition)

    @property
    def title(self) -> str:
        row = table().get(self.problem.condition)
        if self.problem.code == RETRIES:
            return gettext("link tries again")
        return gettext(row.title) if row else gettext("alert")

    @property
    def state(self) -> str:
        """The state of the chip."""
        row = table().get(self.problem.condition)
        if self.problem.code == RETRIES:
            return "redelivery"
        return STATES.get(row.name, "untaken") if row else "untaken"

    @property
    def url(self) -> str:
        """The page where one acts on the cause."""
        if not self.problems:
            return of_alert(self.alerts[0])[0]
        first, page = self.problem, PAGES[table()[self.problem.condition].page]
        keys = {one.key for one in self.problems if one.condition == first.condition}
        return page.url(first.key if len(keys) == 1 else first.key[: page.takes])

    @property
    def parts(self) -> tuple[str, str, str]:
        """The sentence: before the name, the name as a link, after it."""
        before, name, after = self.problem.parts
        if self.cause.kind == GROUP:
            after += also_from(self.problems)
        return before, name, after

    @property
    def since(self) -> tuple[str, datetime] | None:
        """When the problem began, and the words before that."""
        at, row = self.problem.since, table().get(self.problem.condition)
        return (gettext(row.since) if row else "", at) if at else None

    @property
    def rings_since(self) -> datetime | None:
        """When the first of its alerts fired."""
        return min((one.fired_at for one in self.alerts if one.fired_at), default=None)

    @property
    def rank(self) -> tuple[bool, int, int]:
        """The worst first: critical alerts, then the order of the conditions."""
        critical = AlertRule.Severity.CRITICAL
        is_critical = any(one.severity == critical for one in self.firing)
        names = list(table())
        name = self.problem.condition
        order = names.index(name) if name in names else len(names)
        return not is_critical, order, -self.problem.value


@dataclass(frozen=True, slots=True)
class Causes:
    """All causes that a user may see, the worst first."""

    rows: Sequence[CauseRow]

    @property
    def urgent(self) -> list[CauseRow]:
        """Those that need somebody now: this is what pages and the badge count."""
        return [one for one in self.rows if one.is_urgent]

    @property
    def acknowledged(self) -> list[CauseRow]:
        return [one for one in self.rows if one.is_acknowledged]

    @property
    def calm(self) -> list[CauseRow]:
        """Those that can wait."""
        return [one for one in self.rows if not (one.is_urgent or one.is_acknowledged)]


def also_from(parts: Iterable[Problem]) -> str:
    """Where else dead letters of a group come from, as the end of a sentence."""
    origins = list(dict.fromkeys(one.of for one in parts if one.of))[1:]
    if not origins:
        return ""
    named, left = ", ".join(origins[:NAMED]), len(origins) - NAMED
    if left <= 0:
        return " " + gettext("Also from %(queues)s.") % {"queues": named}
    text = ngettext(
        "Also from %(queues)s and %(n)s more.",
        "Also from %(queues)s and %(n)s more.",
        left,
    )
    return " " + text % {"queues": named, "n": write_count(left)}


def now(user: Principal, held: GrantedAuthorities, seen: Readings) -> Causes:
    """The causes that the user may see, by these readings. The badge on the same page
    has their number. They are not kept: with thousands, that takes longer than to find
    them."""
    found = visible(look(seen), user, held)
    causes = Causes(sorted(rows_of(*found), key=lambda one: one.rank))
    cache.look_now(key_of(user, held), lambda: len(causes.urgent))
    return causes


def count(user: Principal, held: GrantedAuthorities) -> int:
    """Causes that need somebody now, for the badge; up to some seconds old. Each user's
    number is kept: with thousands of problems, no page can count them."""
    return cache.recent(key_of(user, held), partial(counted, user, held), KEPT_S)


def counted(user: Principal, held: GrantedAuthorities) -> int:
    found = visible(cache.recent(KEY, look, KEPT_S), user, held)
    return sum(one.is_urgent for one in rows_of(*found))


def key_of(user: Principal, held: GrantedAuthorities) -> str:
    """The key of the number of causes for a user with these authorities."""
    granted = crc32(repr(sorted(held.patterns.items())).encode())
    stamp = kept.get(STAMP, "")
    return f"{KEY}.{user and user.pk}.{granted:08x}.{stamp}"


def look(seen: Readings | None = None) -> Found:
    return problems.now(seen), list(sight.standing()[: sight.MOST])


def forget() -> None:
    """Drop what the badge counts: alerts have been acknowledged."""
    cache.forget(KEY)
    kept.set(STAMP, uuid4().hex, cache.STALE_S)


def visible(found: Found, user: Principal, held: GrantedAuthorities) -> Found:
    every, alerts = found
    return sight.of_problems(every, user, held), sight.visible(alerts, user, held)


def rows_of(found: Iterable[Problem], alerts: Iterable[Alert]) -> list[CauseRow]:
    """A row for each cause of problems and alerts."""
    wrong: dict[Cause, list[Problem]] = defaultdict(list)
    ringing: dict[Cause, list[Alert]] = defaultdict(list)
    for one in found:
        wrong[cause_of(one)].append(one)
    for alert in alerts:
        ringing[cause_of(alert)].append(alert)
    fold_queues(wrong, ringing)
    return [
        CauseRow(cause, wrong.get(cause, ()), ringing.get(cause, ()))
        for cause in dict.fromkeys([*wrong, *ringing])
    ]


def fold_queues(
    wrong: dict[Cause, list[Problem]], ringing: dict[Cause, list[Alert]]
) -> None:
    """Leave out queues on which nothing is wrong but dead letters of groups that have
    rows themselves. Alerts about such a queue go to the group if it is the only one;
    otherwise the queue keeps its row."""
    lie: dict[str, Counter[Cause]] = defaultdict(Counter)
    for cause, those in wrong.items():
        for one in those:
            if one.condition == Name.GROWTH:
                lie[one.queues[0]][cause] += one.value
    for name, groups in lie.items():
        queue = Cause(QUEUE, name)
        those = wrong.get(queue, [])
        is_explained = all(
            one.condition == Name.DEAD_LETTERS and one.value <= groups.total()
            for one in those
        )
        if is_explained and (queue not in ringing or len(groups) == 1):
            wrong.pop(queue, None)
            (group, *_) = groups
            ringing[group] += ringing.pop(queue, [])


def titles(rows: Iterable[CauseRow]) -> Mapping[str, int]:
    """How many rows of each title there are."""
    return dict(Counter(one.title for one in rows))
