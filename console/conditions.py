"""What can be wrong here: groups of the second factor that do not exist."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext_noop

from broker.formats.sentences import say
from broker.problems.problem import Bound, Condition, Name, Problem
from broker.problems.readings import Readings
from console import second_factors


def missing_groups(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for name in second_factors.missing_groups():
        text = say(
            gettext_noop(
                "BACKOUT_SECOND_FACTOR_GROUPS names the group %(group)s, which does not"
                " exist: until it does, every user needs a second factor."
            ),
            group=name,
        )
        yield Problem(name, text, is_urgent=False, code="no-such-group")


CONDITIONS = [
    Condition(Name.GROUP, gettext_noop("no such group"), missing_groups, "health",
        gettext_noop("a user group that must use a second factor does not exist"),
        gettext_noop("Correct the name in the environment and start the processes"
        " again, or create the group under Settings and put its people into it."),
        permission="auth.view_group")
]  # fmt: skip
