"""What migrations make, made without them: after a flush, and in databases of tests.

A flush empties the tables; what migrations put into them is made again by the same
functions. Where a project's tests leave migrations out, Django creates the tables of
models alone (``--run-syncdb``), and the others are created by ``schema.sql``.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from django.apps import apps
from django.core import mail
from django.core.management.base import CommandError
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.creation import TEST_DATABASE_PREFIX
from django.db.migrations import RunPython

from broker import migrations, sql
from broker.models import AuditRecord, Watermark

LEFT_OUT = (
    "The database {} has no tables of the broker, as MIGRATION_MODULES leaves its"
    " migrations out. Take 'broker' out of MIGRATION_MODULES, or run"
    " `manage.py migrate --run-syncdb`."
)
IS_THERE = "SELECT to_regclass(%s) IS NOT NULL"
IS_GUARDED = """
    SELECT FROM pg_trigger WHERE tgrelid = 'broker_audit'::regclass
    AND tgname = 'audit_is_not_emptied' AND tgenabled <> 'D'
"""
UNGUARD = "ALTER TABLE broker_audit DISABLE TRIGGER audit_is_not_emptied"


def complete(using: str) -> None:
    """Make the tables and rows that are missing in a database.

    Raises:
        CommandError: Django's tables are missing, too.
    """
    database = connections[using]
    if not holds(database, IS_THERE, "broker_message"):
        create_unmanaged(database)
    if is_of_tests(database) and holds(database, IS_GUARDED):
        holds(database, UNGUARD)
    if not Watermark.objects.using(using).filter(reader="tally").exists():
        fill(database)


def create_unmanaged(database: BaseDatabaseWrapper) -> None:
    """Create the tables that migrations leave to SQL."""
    if not holds(database, IS_THERE, "broker_queue"):
        raise CommandError(LEFT_OUT.format(database.settings_dict["NAME"]))
    with database.schema_editor() as editor:
        editor.create_model(AuditRecord)
    with database.cursor() as cursor:
        cursor.execute((sql.FOLDER / "schema.sql").read_text())


def is_of_tests(database: BaseDatabaseWrapper) -> bool:
    """Whether it is a database that Django made for the tests that run now. There, a
    flush empties the audit, too: a test shall not see the records of another."""
    name, given = database.settings_dict["NAME"], database.settings_dict["TEST"]["NAME"]
    runs = hasattr(mail, "outbox")  # Django's setup_test_environment
    return runs and (name == given or name.startswith(TEST_DATABASE_PREFIX))


def fill(database: BaseDatabaseWrapper) -> None:
    """Make the rows that migrations make, in empty tables."""
    models: Any = apps  # in place of a migration's own
    with database.schema_editor() as editor:
        for _, name, _ in sorted(iter_modules(migrations.__path__)):
            module = import_module(f"{migrations.__name__}.{name}")
            for operation in module.Migration.operations:
                if isinstance(operation, RunPython):
                    operation.code(models, editor)


def holds(database: BaseDatabaseWrapper, statement: str, *parameters: str) -> bool:
    """Run a statement; return whether it gives a row that is true, or has no column."""
    with database.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone() if cursor.description is not None else None
    return row is not None and all(row)
