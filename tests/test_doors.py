"""Pages, REST and commands order by acts: none calls the functions behind them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
ACTS = ("broker/acts", "dashboards/acts.py", "console/messages/acts.py")
KNOWN_TO_ALL = ("broker.acts", "broker.errors", "broker.formats", "broker.sql")
SECURITY = "broker.security."  # who may what, and what is written of it
READING = {  # what pages and queries read, too
    "broker.alerts.notifications.silences_at",
    "broker.alerts.owed.silence_of",
    "broker.bridges.configured.ends_here",
    "broker.bridges.resubmit.link_for",
    "broker.bridges.resubmit.selection_of",
    "broker.bridges.standing.held_by",
    "broker.bridges.standing.status_of",
    "broker.config.lint.advised",
    "broker.monitoring.connections.connections",
    "broker.monitoring.dead_letter_groups.group_rows",
    "broker.monitoring.dead_letter_groups.standing",
    "broker.monitoring.numbers.copies_of",
    "broker.monitoring.numbers.public_number",
    "broker.monitoring.visible_groups.queues_for",
    "broker.monitoring.visible_search.search",
    "broker.operations.copy_outcomes.follows",
    "broker.operations.rules.parsed",
    "broker.operations.rules.rules_of",
    "broker.operations.rules.write",  # rules as text
    "broker.operations.subjects_of",
    "broker.operations.usual_canary",
    "broker.problems.causes.cause_of",
    "broker.queueing.browse.where_is",
    "broker.settlement.discards.discarded",
    "broker.settlement.discards.visible_queues",
    "broker.transactions.prepared_units.waiting",
}
# A coordinator of distributed transactions commits what it has prepared itself.
OF_PROGRAMS = {"broker.transactions.prepared.commit_prepared"}


def test_no_door_calls_the_functions_behind_acts() -> None:
    behind = {one for path in modules(*ACTS) for one in calls_of(path)}
    doors = {
        path: set(calls_of(path))
        for path in modules("console", "dashboards")
        if path.name != "acts.py" and "demo" not in path.parts
    }
    assert len(behind) > 90
    past = {
        (one, str(path.relative_to(TREE)))
        for path, called in doors.items()
        for one in behind & called - READING - OF_PROGRAMS
        if not one.startswith(SECURITY)
    }
    assert past == set()


def test_what_is_said_to_be_read_is_behind_acts() -> None:
    behind = {one for path in modules(*ACTS) for one in calls_of(path)}
    assert behind >= READING | OF_PROGRAMS


def modules(*places: str) -> Iterator[Path]:
    for place in places:
        path = TREE / place
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def calls_of(path: Path) -> Iterator[str]:
    """The functions of the broker that a module calls, as "broker.alerts.acts.end"."""
    tree = ast.parse(path.read_text())
    origins = {
        name.asname or name.name: f"{node.module}.{name.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id=name) if name in origins:
                called = origins[name]
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if (
                name in origins
            ):
                called = f"{origins[name]}.{attribute}"
            case _:
                continue
        is_of_class = any(part[:1].isupper() for part in called.split("."))
        if called.startswith("broker.") and not (
            called.startswith(KNOWN_TO_ALL) or is_of_class
        ):
            yield called
