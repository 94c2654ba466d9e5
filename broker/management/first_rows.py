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
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import RunPython
from django.db.migrations.loader import MigrationLoader

from broker import migrations, sql
from broker.config.test_databases import is_of_tests
from broker.models import AuditRecord, Watermark

LEFT_OUT = (
    "MIGRATION_MODULES leaves out the migrations of the broker, so its tables are"
    " missing. Take 'broker' out of MIGRATION_MODULES. In tests, leave out those of all"
    " applications, by TEST = {'MIGRATE': False} or pytest --no-migrations: alone, the"
    " tables would be created before those that they refer to."
)
IS_THERE = "SELECT to_regclass(%s) IS NOT NULL"
IS_GUARDED = """
    SELECT FROM pg_trigger WHERE tgrelid = 'broker_audit'::regclass
    AND tgname = 'audit_is_not_emptied' AND tgenabled <> 'D'
"""
SET_APART = """
    UPDATE broker_modelqueue SET id = -id WHERE name LIKE 'SYSTEM.%' AND id > 0;
    WITH apart AS (
        UPDATE broker_address SET id = -id WHERE name LIKE 'SYSTEM.%' AND id > 0
        RETURNING id
    )
    UPDATE broker_queue SET id = -broker_queue.id, address_id = apart.id FROM apart
    WHERE address_id = -apart.id AND name LIKE 'SYSTEM.%'
"""
SEQUENCES = """
    SELECT pg_get_serial_sequence(quote_ident(name), id)
    FROM unnest(%s::text[], %s::text[]) AS key (name, id)
"""
UNGUARD = "ALTER TABLE broker_audit DISABLE TRIGGER audit_is_not_emptied"


def refuse_left_out(*, using: str, **_: object) -> None:
    """Refuse to leave out the migrations of the broker, and not those of users, to whom
    its tables refer; for ``pre_migrate``.

    Raises:
        CommandError: the sentence says what to do.
    """
    of = MigrationLoader.migrations_module
    users = get_user_model()._meta.app_label
    is_alone = of("broker")[0] is None and of(users)[0] is not None
    if is_alone and not holds(connections[using], IS_THERE, "broker_queue"):
        raise CommandError(LEFT_OUT)


def complete(using: str) -> None:
    """Make the tables and rows that are missing in a database.

    Raises:
        CommandError: Django's tables are missing, too.
    """
    database = connections[using]
    if not holds(database, IS_THERE, "broker_message"):
        create_unmanaged(database)
    # Let tests empty the audit table: a test must not see the records of another test.
    if is_of_tests(database) and holds(database, IS_GUARDED):
        holds(database, UNGUARD)
    if not Watermark.objects.using(using).filter(reader="tally").exists():
        fill(database)


def create_unmanaged(database: BaseDatabaseWrapper) -> None:
    """Create the tables that migrations leave to SQL."""
    if not holds(database, IS_THERE, "broker_queue"):
        raise CommandError(LEFT_OUT)
    with database.schema_editor() as editor:
        editor.create_model(AuditRecord)
    with database.cursor() as cursor:
        cursor.execute((sql.FOLDER / "schema.sql").read_text())


def set_apart(using: str) -> None:
    """In a database of tests, give the system's queues ids that no sequence gives, as
    tests restart sequences after these rows are made (``reset_sequences``)."""
    database = connections[using]
    if is_of_tests(database):
        with database.cursor() as cursor:
            cursor.execute(SET_APART)


def fill(database: BaseDatabaseWrapper) -> None:
    """Make the rows that migrations make, in empty tables."""
    models: Any = apps  # current models, in place of those of a migration
    restart_ids(database)
    with database.schema_editor() as editor:
        for _, name, _ in sorted(iter_modules(migrations.__path__)):
            module = import_module(f"{migrations.__name__}.{name}")
            for operation in module.Migration.operations:
                if isinstance(operation, RunPython):
                    operation.code(models, editor)


def restart_ids(database: BaseDatabaseWrapper) -> None:
    """Let rows have the ids that they have after a migration, as tests may write
    those ids again (``serialized_rollback``). A rollback undoes this, as it undoes
    the flush."""
    models = apps.get_app_config("broker").get_models()
    keys = [one._meta.auto_field for one in models if one._meta.managed]
    columns = [(key.model._meta.db_table, key.column) for key in keys if key]
    with database.cursor() as cursor:
        cursor.execute(SEQUENCES, [list(each) for each in zip(*columns, strict=True)])
        cursor.execute(
            "; ".join(f"ALTER SEQUENCE {name} RESTART" for (name,) in cursor)
        )


def holds(database: BaseDatabaseWrapper, statement: str, *parameters: str) -> bool:
    """Run a statement; return whether it gives a row that is true, or has no column."""
    with database.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone() if cursor.description is not None else None
    return row is not None and all(row)
