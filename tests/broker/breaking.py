"""Work that breaks its own database session, and leaves it so."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from django.db import DatabaseError, connection, transaction


def write(name: str) -> None:
    from broker.models import Address  # noqa: PLC0415  # Celery loads Django later

    Address.objects.create(name=name)


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def terminate() -> None:
    run("SELECT pg_terminate_backend(pg_backend_pid())")


def terminate_in_silence() -> None:
    with suppress(DatabaseError):
        terminate()


def leave_autocommit_off() -> None:
    connection.set_autocommit(False)
    write("leave autocommit off")


def leave_a_block_open() -> None:
    transaction.atomic().__enter__()
    write("leave a block open")


def begin() -> None:
    run("BEGIN")
    write("begin")


def close_in_a_block() -> None:
    transaction.atomic().__enter__()
    connection.close()


def set_to(name: str, value: str) -> Callable[[], None]:
    return lambda: run(f"SET SESSION {name} = {value}")


BROKEN: dict[str, Callable[[], None]] = {
    "terminate": terminate,
    "terminate in silence": terminate_in_silence,
    "leave autocommit off": leave_autocommit_off,
    "leave a block open": leave_a_block_open,
    "begin": begin,
    "close in a block": close_in_a_block,
}
SET: dict[str, Callable[[], None]] = {
    name: set_to(name, value)
    for name, value in {
        "search_path": "pg_catalog",
        "role": "pg_monitor",
        "statement_timeout": "1",
        "lock_timeout": "1",
        "default_transaction_read_only": "on",
        "default_transaction_isolation": "serializable",
        "idle_session_timeout": "1",
    }.items()
}
