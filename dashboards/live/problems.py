"""What is wrong now, for pages, probes, metrics and the command line.

What is slow to find, or changes rarely, is kept for some seconds for all users.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from broker.alerts import sight
from broker.problems import conditions
from broker.problems.problem import Name, Problem
from broker.problems.readings import Readings
from broker.queueing import journal
from broker.security.authorities import GrantedAuthorities, Principal
from dashboards.live import cache

KEPT_S = {
    Name.SETTINGS.value: 15,
    Name.SILENT.value: 2,
    Name.PASSWORD.value: 15,
    Name.UNATTENDED.value: 15,
}
READ_S = 2  # readings that are slow are kept for at least this time


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


def readings(
    at: datetime | None = None, counts: Mapping[int, journal.Depth] | None = None
) -> Readings:
    """The readings of now, or of a given moment. Of now, what is slow to read may be
    some seconds old."""
    return Readings(at, counts=counts) if at else Readings(counts=counts, keep=keep)


def keep(name: str, look: Callable[[], Any]) -> Any:
    return cache.newest(f"dashboards.readings.{name}", look, READ_S)


def now(seen: Readings | None = None) -> list[Problem]:
    """All problems: the most urgent condition first, and the worst of each first. As
    many queries however many queues there are."""
    seen = seen or readings()
    return [
        one
        for name in conditions.table()
        for one in sorted(of(name, seen, newest=False), key=lambda one: -one.value)
    ]


def visible(
    user: Principal, held: GrantedAuthorities, seen: Readings | None = None
) -> list[Problem]:
    """All problems that the user may know of."""
    return sight.of_problems(now(seen), user, held)
