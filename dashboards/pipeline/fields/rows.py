"""Rows of the database as batches of Arrow, read by ADBC in one binary COPY."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import NamedTuple

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
from adbc_driver_manager._reader import AdbcRecordBatchReader
from django.db import connection
from psycopg import pq as libpq
from psycopg.conninfo import make_conninfo

from dashboards import sql
from dashboards.spark import cpu_share

NO_TIMEOUT = "0"


class Bounds(NamedTuple):
    """The parameters of ``bounds.sql``."""

    lo: int = 0  # ``lo`` and ``hi``: transaction ids
    hi: int = 0
    begin: str = "-infinity"
    end: str = "infinity"
    ids: str = "{}"  # ids of messages, as a multirange
    timeout: str = NO_TIMEOUT


def rows_of(statement: str, bounds: Bounds) -> Generator[pa.RecordBatch]:
    """The result of a statement, on a connection of its own.

    Args:
        statement: its name in ``dashboards/sql``.
        bounds: what it reads.

    Raises:
        adbc_driver_manager.Error: the server refused, or cancelled after the timeout.
    """
    with adbc.connect(dsn(), autocommit=True) as journal, journal.cursor() as cursor:
        cursor.execute(sql.statement("bounds"), tuple(map(str, bounds)))
        *_, backend = cursor.fetchall()[0]
        cpu_share.take_along(backend)
        cursor.execute(sql.statement(statement))
        with closing(batches_of(cursor)) as batches:
            yield from batches


def batches_of(cursor: adbc.Cursor) -> AdbcRecordBatchReader:
    """The result, read so that errors keep their SQLSTATE; pyarrow's reader, which
    ``fetch_record_batch`` returns, makes each an ``OSError``."""
    # ``stream`` must exist until the import: the rows are released with it.
    stream = cursor.fetch_arrow()
    return AdbcRecordBatchReader._import_from_c(stream.address)


def dsn() -> str:
    """The connection string of Django's database, with all options of libpq."""
    known = {option.keyword.decode() for option in libpq.Conninfo.get_defaults()}
    parameters = connection.get_connection_params()
    return make_conninfo(
        **{name: value for name, value in parameters.items() if name in known}
    )
