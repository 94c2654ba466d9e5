"""What is wrong now, for pages, probes, metrics and the command line.

What is slow to find, or changes rarely, is kept for some seconds for all users.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from broker.alerts import sight
from broker.problems import conditions
from broker.problems.problem import Name, Problem
from broker.problems.readings import Readings
from broker.security.authorities import GrantedAuthorities, Principal
from dashboards.live import cache

KEPT_S = {
    Name.SETTINGS.value: 15,
    Name.SILENT.value: 2,
    Name.PASSWORD.value: 15,
    Name.UNATTENDED.value: 15,
}


def key(name: str) -> str:
    return f"dashboards.problems.{name}"


def of(
    name: str, seen: Readings | None = None, *, newest: bool = True
) -> list[Problem]:
    """The problems of one condition.

    Args:
        newest: not those that are kept, unless they are slow to find.
    """
    if name not in KEPT_S:
        return conditions.of(name, seen)
    ask = cache.newest if newest else cache.recent
    return ask(key(name), partial(conditions.of, name), KEPT_S[name])


def now(at: datetime | None = None) -> list[Problem]:
    """All problems: the most urgent condition first, and the worst of each first. As
    many queries however many queues there are."""
    seen = Readings(at)
    return [
        one
        for name in conditions.table()
        for one in sorted(of(name, seen, newest=False), key=lambda one: -one.value)
    ]


def visible(
    user: Principal, held: GrantedAuthorities, at: datetime | None = None
) -> list[Problem]:
    """All problems that the user may know of."""
    return sight.of_problems(now(at), user, held)
