"""``broker/sql/schema.sql`` says what the migrations make."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from broker import sql

SCHEMA = (sql.FOLDER / "schema.sql").read_text()
AUDIT = "broker_audit"  # a table that Django makes, whose triggers are in the file
QUEUES = "broker_queue"  # so is this
QUERIES = {
    "columns": """
        SELECT relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull,
            attstorage, pg_get_expr(adbin, adrelid)
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE relnamespace = %(schema)s::regnamespace AND relkind IN ('r', 'p')
            AND attnum > 0 AND NOT attisdropped
    """,
    "indexes": """
        SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = %(schema)s
    """,
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = %(schema)s::regnamespace
            AND conrelid <> 0 AND contype <> 'n'
    """,
    "storage": """
        SELECT relname, relkind, coalesce(reloptions::text, ''),
            coalesce(pg_get_partkeydef(oid), ''),
            coalesce(pg_get_expr(relpartbound, oid), '')
        FROM pg_class WHERE relnamespace = %(schema)s::regnamespace
            AND relkind IN ('r', 'p')
    """,
    "sequences": """
        SELECT sequencename, data_type::text, start_value, increment_by, cache_size
        FROM pg_sequences WHERE schemaname = %(schema)s
    """,
    "triggers": """
        SELECT tgrelid::regclass::text, pg_get_triggerdef(pg_trigger.oid)
        FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = %(schema)s::regnamespace AND NOT tgisinternal
    """,
    "functions": """
        SELECT proname, pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = %(schema)s::regnamespace
    """,
}

OF_TABLES = ("columns", "indexes", "constraints", "storage")


def tables_of_the_file() -> set[str]:
    return set(re.findall(r"^CREATE TABLE (\w+)", SCHEMA, re.M))


def described(schema: str) -> dict[str, set[tuple[Any, ...]]]:
    """What the catalogs of the database say of a schema, without its name."""
    found = {}
    with connection.cursor() as cursor:
        for what, query in QUERIES.items():
            cursor.execute(query, {"schema": schema})
            found[what] = {
                tuple(plain(cell, schema) for cell in row) for row in cursor.fetchall()
            }
    return found


def plain(cell: Any, schema: str) -> Any:
    return cell.replace(f"{schema}.", "") if isinstance(cell, str) else cell


@pytest.mark.django_db
def test_it_makes_the_tables_that_the_migrations_made() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA described")
        cursor.execute("SET LOCAL search_path = described")
        for table in (AUDIT, QUEUES):
            cursor.execute(f"CREATE TABLE {table} (LIKE public.{table} INCLUDING ALL)")
        cursor.execute(SCHEMA)
        by_file = described("described")
        cursor.execute("SET LOCAL search_path = public")
    by_migrations = described("public")

    ours = tables_of_the_file()
    for what, rows in by_file.items():
        names = {row[0] for row in rows}
        if what in OF_TABLES:
            names &= ours
        made = {row for row in rows if row[0] in names}
        assert made == {row for row in by_migrations[what] if row[0] in names}, what


def test_it_has_the_tables_that_the_migrations_leave_to_sql() -> None:
    unmanaged = {
        model._meta.db_table
        for model in apps.get_app_config("broker").get_models()
        if not model._meta.managed
    }
    defaults = {name for name in tables_of_the_file() if name.endswith("_default")}

    assert tables_of_the_file() - defaults == unmanaged - {AUDIT}
