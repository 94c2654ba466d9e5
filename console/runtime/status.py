"""``backout status``: where the console is, what runs, and what needs somebody."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from broker.models import Owner
from broker.problems.problem import Name, ProblemState
from console.runtime import supervisor
from console.runtime.directories import VAR_DIR
from dashboards.live import attention, problems

NEW_PASSWORD = "manage.py make_administrator NAME"  # noqa: S105  it makes one
AWAY = (
    "Backout is not running: the database does not answer. Start it: make run, or"
    " manage.py backout run in a project of your own."
)
PROGRAMS = "application"  # the kind of processes that put and get by themselves


@dataclass(frozen=True, slots=True)
class Status:
    """What a person asks who has closed the terminal in which it was started."""

    url: str | None  # the URL of the pages that run on this machine for this project
    processes: Mapping[str, int]  # how many are alive on all machines, by kind
    groups: int  # groups of dead letters that need attention
    problems: int  # the number of problems on the page Health
    wrong: Sequence[ProblemState]

    @property
    def is_running(self) -> bool:
        return bool(self.url or self.processes)

    def __str__(self) -> str:
        counted = (f"{count} {kind}" for kind, count in sorted(self.processes.items()))
        return "\n".join(
            [
                f"Backout is running: {self.url}"
                if self.url
                else "No pages run here for this project.",
                f"Processes: {', '.join(counted) or 'none'}.",
                f"Groups of dead letters that need attention: {self.groups}.",
                f"Settings to fix, on the page Health: {self.problems}.",
                f"A new password for an administrator: {NEW_PASSWORD}",
            ]
        )


def look() -> Status:
    wrong = [one.state for one in problems.now()]
    kinds = Owner.objects.exclude(kind=PROGRAMS).values_list("kind", flat=True)
    counts = dict(Counter(kinds))
    settings = len(problems.of(Name.SETTINGS.value))
    return Status(address(), counts, attention.count(), settings, wrong)


def address() -> str | None:
    """The URL of the pages: of a checkout, or of the project of this ``manage.py``."""
    marks = (str(VAR_DIR), str(Path(sys.path[0]).absolute()))
    return next(filter(None, map(supervisor.address_of, marks)), None)
