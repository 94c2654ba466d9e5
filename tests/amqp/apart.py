"""A database for one command, beside the one that is configured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from broker.queueing import processes

LEAVE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND backend_type = 'client backend'"""


@contextmanager
def own_database(name: str) -> Iterator[None]:
    """Make it, use it, drop it. What a killed command left behind is replaced."""
    configured = connection.settings_dict["NAME"]
    connection.settings_dict["TEST"]["NAME"] = f"{configured}_{name}"
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        yield
    finally:
        processes.resign()
        with connection.cursor() as cursor:
            cursor.execute(LEAVE)
        connection.creation.destroy_test_db(configured, verbosity=0)
