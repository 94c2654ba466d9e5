"""Writes docs/acts.md from the declarations of acts: ``python -m`` this."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

from django.urls import get_resolver  # noqa: E402

from broker.acts import DeclaredAct  # noqa: E402
from tests.console.act_doors import COMMANDS, DECLARED, routes  # noqa: E402
from tests.console.act_examples import EXAMPLES  # noqa: E402

PAGE = Path(__file__).resolve().parents[2] / "docs" / "acts.md"
HEAD = """# Acts

What a person or a program may order, and where. This page is made from the
declarations in `broker/acts/`, `dashboards/acts.py` and `console/messages/acts.py` by
`python -m tests.tools.acts_page`. Each act is declared once: its page, its operation of
the [REST API](rest.md) and its
[command](command-line.md) read the same fields, limits and rules, and refuse alike.
Users need the permission, and the authority on each queue that is named
([rights](rights.md)). Each act, and each attempt that is refused, is one record of the
[audit](audit.md).
"""
COLUMNS = (
    "\n| act | page | REST | command | permission | authority | in the audit |"
    "\n|---|---|---|---|---|---|---|\n"
)


def page() -> str:
    """The whole page."""
    found = sorted(DECLARED.values(), key=lambda one: (one.subject, one.name))
    parts = [
        f"\n## {subject.replace('_', ' ').capitalize()}\n{COLUMNS}{''.join(rows(acts))}"
        for subject, acts in groupby(found, attrgetter("subject"))
    ]
    return HEAD + "".join(parts)


def rows(acts: Iterator[DeclaredAct]) -> Iterator[str]:
    for one, (method, path) in ((one, routes()[one.name]) for one in acts):
        needed = [f"`{two}` on the {on}" for on, two in one.authorities.items()]
        needed += [rule.words for rule in one.rules.values()]
        cells = (
            f"**{one.name}**: {one.sentence}",
            f"`{path_of(one)}`",
            f"`{method.upper()} {path}`",
            f"`{' '.join(COMMANDS[one.name])}`",
            ", ".join(f"`{name}`" for name in one.permissions),
            ", ".join(needed) or "–",
            f"`{one.recorded_as.value}`",
        )
        yield f"| {' | '.join(cells)} |\n"


def path_of(one: DeclaredAct) -> str:
    """The path of its page, with its parameters in angle brackets."""
    space, _, name = EXAMPLES[one.name].page.partition(":")
    prefix, pages = get_resolver().namespace_dict[space]
    known: Any = pages.reverse_dict
    text, names = known[name][0][0]
    return f"/{prefix}{text % {name: f'<{name}>' for name in names}}"


if __name__ == "__main__":
    PAGE.write_text(page())
