"""Migrations let processes of the version before them go on: they only add.

CONTRIBUTING says how something is taken away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module

import pytest
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import NOT_PROVIDED

OURS = ("broker", "console", "dashboards")
AFTER = "After the upgrade"  # begins the docstring of a migration that takes away
RENAMES = (migrations.RenameModel, migrations.RenameField, migrations.AlterModelTable)
TAKES_AWAY = (migrations.DeleteModel, migrations.RemoveField, *RENAMES)
BY_SQL = re.compile(
    r"\bDROP (?:TABLE|COLUMN)|\bRENAME\b|\bSET NOT NULL"
    r"|\bALTER COLUMN \w+ (?:SET DATA )?TYPE"
    r"|\bADD COLUMN (?:(?!\bDEFAULT\b|,|;).)*\bNOT NULL(?!.*\bDEFAULT\b)",
    re.I | re.S,
)


def wrong(operation: Operation) -> str:
    """What processes of the version before cannot stand; empty: nothing."""
    if isinstance(operation, TAKES_AWAY):
        return "takes away what they read or write"
    if isinstance(operation, migrations.AddField):
        field = operation.field
        has_default = field.db_default is not NOT_PROVIDED
        if not (field.null or field.many_to_many or has_default):
            return (
                f"{operation.name} needs null=True or db_default: they do not write it"
            )
    if isinstance(operation, migrations.RunSQL):
        texts = operation.sql if isinstance(operation.sql, list) else [operation.sql]
        for found in filter(None, (BY_SQL.search(str(one)) for one in texts)):
            return f"{found[0]!r} takes away what they read or write"
    return ""


def found() -> Iterator[tuple[str, migrations.Migration]]:
    for (label, name), migration in MigrationLoader(None).disk_migrations.items():
        if label in OURS and name != "0001_initial":
            yield f"{label}.{name}", migration


def done_by(
    label: str, operations: Iterable[Operation], state: ProjectState
) -> Iterator[Operation]:
    """What operations do in the database: without renames in Python alone."""
    for operation in operations:
        before = state.clone()
        operation.state_forwards(label, state)
        is_rename = isinstance(operation, RENAMES)
        if not is_rename or statements(operation, label, before, state):
            yield operation


def statements(
    operation: Operation, label: str, before: ProjectState, after: ProjectState
) -> list[str]:
    """What an operation would run."""
    with connection.schema_editor(collect_sql=True, atomic=False) as editor:
        operation.database_forwards(label, editor, before, after)
    return list(editor.collected_sql)


@pytest.mark.django_db
def test_processes_of_the_version_before_go_on() -> None:
    loader = MigrationLoader(None)
    faults = []
    for name, migration in found():
        if not is_after(migration):
            label = migration.app_label
            state = loader.project_state((label, migration.name), at_end=False)
            done = done_by(label, migration.operations, state)
            faults += [f"{name}: {fault}" for fault in map(wrong, done) if fault]
    assert faults == []


@pytest.mark.django_db
def test_a_rename_that_keeps_the_table_or_the_column_is_in_python_alone() -> None:
    inert = [
        migrations.RenameModel("OperationSchedule", "Progress"),
        migrations.RenameField("operationitem", "outcome", "result"),
        migrations.AlterModelTable("operation", "broker_operation"),
    ]
    others = [
        migrations.RenameModel("Experience", "Lesson"),
        migrations.RenameField("operationitem", "note", "remark"),
    ]
    state = MigrationLoader(None).project_state()
    assert list(done_by("broker", [*inert, *others], state)) == others


def is_after(migration: migrations.Migration) -> bool:
    module = import_module(migration.__module__)
    return (module.__doc__ or "").startswith(AFTER)


def test_every_migration_can_be_undone() -> None:
    stuck = [
        name
        for name, migration in found()
        if not all(one.reversible for one in migration.operations)
    ]
    assert stuck == []


@pytest.mark.parametrize(
    "operation",
    [
        migrations.RemoveField("queue", "name"),
        migrations.RenameField("queue", "name", "title"),
        migrations.AddField("queue", "colour", models.TextField(default="red")),
        migrations.RunSQL("ALTER TABLE broker_ready DROP COLUMN pos"),
        migrations.RunSQL("ALTER TABLE broker_ready ADD COLUMN colour text NOT NULL"),
        migrations.RunSQL(["ALTER TABLE broker_ready ALTER COLUMN pos TYPE text"]),
    ],
)
def test_what_they_cannot_stand_is_found(operation: Operation) -> None:
    assert wrong(operation)


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("queue", "colour", models.TextField(null=True)),
        migrations.AddField("queue", "colour", models.TextField(db_default="red")),
        migrations.RunSQL("ALTER TABLE broker_ready ADD COLUMN colour text"),
        migrations.RunSQL(
            "ALTER TABLE broker_ready ADD COLUMN colour text NOT NULL DEFAULT 'red'"
        ),
    ],
)
def test_what_only_adds_is_accepted(operation: Operation) -> None:
    assert wrong(operation) == ""
