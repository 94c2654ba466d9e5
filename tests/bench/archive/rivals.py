"""The same questions to PostgreSQL, about the journal, and to DuckDB, about its files.

Both make tables of attempts and stays first, as Spark makes silver, and answer from
those. What they answer is compared with what Spark published.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from django.db import connection

from dashboards.models import ReportRow
from dashboards.pipeline.manifest import BRONZE, current
from dashboards.reports import discover
from tests.dashboards.files import place
from tests.tools.reports.by_hand import (
    REDELIVERY,
    RESCUES,
    TIME_TO_DEAD_LETTER,
)

Row = tuple[Any, ...]
Ask = Callable[[str], list[Row]]
AT = re.compile(r"\bat\b")  # a word of DuckDB's, unless it is quoted
OURS = "queue LIKE 'bench.%'"  # not what the consumer beside does
THROUGHPUT = f"""
WITH deed AS (
    SELECT queue, put_at AS at, 1 AS kind FROM stay WHERE was_put AND {OURS}
    UNION ALL SELECT queue, got_at, 2 FROM attempt WHERE {OURS}
    UNION ALL SELECT queue, at, kind FROM attempt WHERE {OURS})
SELECT CAST(date_trunc('day', at) AS date), date_trunc('minute', at), queue,
    count(*) FILTER (WHERE kind = 1), count(*) FILTER (WHERE kind = 2),
    count(*) FILTER (WHERE kind = 3), count(*) FILTER (WHERE kind = 4),
    count(*) FILTER (WHERE kind = 7)
FROM deed GROUP BY 1, 2, 3
"""
DEAD_LETTERS = """
SELECT day, queue, cause, count(*), max(ended_at) FROM stay WHERE ended = 7
GROUP BY 1, 2, 3
"""
QUESTIONS = {
    "throughput": THROUGHPUT,
    "dead-letters": DEAD_LETTERS,
    "redelivery": REDELIVERY,
    "rescues": RESCUES,
    "time-to-dead-letter": TIME_TO_DEAD_LETTER,
}
# {unnested} differs. 4, 7 and 9 are failures; nothing is put twice under one id.
TABLES = (
    """
CREATE {temporary} TABLE told AS
SELECT *, count(CASE WHEN came_from IS NULL THEN 1 END)
    OVER (PARTITION BY queue_id, id ORDER BY at, seq) AS nth
FROM ({unnested}) AS one
""",
    """
CREATE {temporary} TABLE attempt AS
SELECT *, CAST(at AS date) AS day FROM (
    SELECT *, kind IN (4, 7, 9) AS failed, max(CASE WHEN kind = 2 THEN at END)
        OVER (PARTITION BY queue_id, id, nth ORDER BY at, seq) AS got_at
    FROM told) AS one
WHERE came_from = 2 AND went_to IS DISTINCT FROM 2
""",
    """
CREATE {temporary} TABLE stay AS
SELECT *, CAST(ended_at AS date) AS day FROM (
    SELECT queue, queue_id, id, min(at) AS put_at, min(kind) = 1 AS was_put,
        count(*) FILTER (WHERE kind IN (4, 7, 9) AND came_from = 2) AS failed,
        count(*) FILTER (WHERE came_from = 2 AND went_to IS DISTINCT FROM 2)
            AS deliveries,
        max(at) FILTER (WHERE went_to IS NULL) AS ended_at,
        max(kind) FILTER (WHERE went_to IS NULL) AS ended,
        max(cause) FILTER (WHERE went_to IS NULL) AS cause
    FROM told GROUP BY queue, queue_id, id, nth) AS one
""",
)
OF_THE_JOURNAL = """
SELECT e.seq, e.at AT TIME ZONE 'UTC' AS at, e.kind, q.name AS queue, e.queue_id, u.id,
    e.came_from, e.went_to, e.detail ->> 'cause' AS cause,
    (e.detail -> 'due_at' ->> (u.n - 1)::int)::timestamptz AT TIME ZONE 'UTC' AS due_at
FROM broker_event e JOIN broker_queue q ON q.id = e.queue_id,
    unnest(e.ids) WITH ORDINALITY AS u (id, n)
"""
OF_THE_ARCHIVE = """
SELECT seq, at, kind, queue, queue_id, id, came_from, went_to,
    json_extract_string(detail, '$.cause') AS cause,
    CAST(CAST(json_extract_string(detail, '$.due_at[' || (n - 1) || ']') AS timestamptz)
        AS timestamp) AS due_at
FROM (
    SELECT seq, CAST(at AS timestamp) AS at, kind, queue, queue_id, unnest(ids) AS id,
        generate_subscripts(ids, 1) AS n, came_from, went_to, detail
    FROM read_parquet({files}))
"""


def of_postgresql() -> dict[str, float]:
    """Seconds of each question; the tables made first are one of them.

    Raises:
        AssertionError: an answer is not what Spark's is.
    """
    with connection.cursor() as cursor:

        def ask(query: str) -> list[Row]:
            cursor.execute(query)
            return cursor.fetchall() if cursor.description else []

        ask("SET timezone = 'UTC'")
        ask("SET statement_timeout = 0")  # it may take as long as it takes
        tables = [
            one.format(temporary="TEMPORARY", unnested=OF_THE_JOURNAL) for one in TABLES
        ]
        try:
            return asked(ask, [*tables, "ANALYZE told, attempt, stay"])
        finally:
            ask("DROP TABLE IF EXISTS told, attempt, stay")


def of_duckdb(threads: int, scratch: Path) -> dict[str, float]:
    """The same, of the archive's files, with as much as Spark has."""
    with duckdb.connect(str(scratch / "bench.duckdb")) as database:

        def ask(query: str) -> list[Row]:
            return database.execute(AT.sub('"at"', query)).fetchall()

        ask("SET TimeZone = 'UTC'")
        ask(f"SET threads = {threads}")
        ask("SET memory_limit = '1GB'")
        files = [str(place(file)) for file in current(BRONZE)]
        unnested = OF_THE_ARCHIVE.format(files=files)
        return asked(
            ask, [one.format(temporary="", unnested=unnested) for one in TABLES]
        )


def asked(ask: Ask, tables: Iterable[str]) -> dict[str, float]:
    began = time.perf_counter()
    for statement in tables:
        ask(statement)
    took = {"attempts and stays": time.perf_counter() - began}
    for slug, query in QUESTIONS.items():
        began = time.perf_counter()
        answer = ask(query)
        took[slug] = time.perf_counter() - began
        found = sorted(ours(map(about, row) for row in answer))
        assert found == sorted(ours(published(slug))), f"{slug} differs"
    return took


def ours(rows: Iterable[Iterable[str]]) -> Iterator[list[str]]:
    for row in map(list, rows):
        if any(cell.startswith("bench.") for cell in row):
            yield row


def published(slug: str) -> Iterator[list[str]]:
    names = [one.name for one in discover()[slug].columns]
    for cells in ReportRow.objects.filter(report=slug).values_list("cells", flat=True):
        yield [about(cells[name]) for name in names]


def about(cell: object) -> str:
    """A value as any of the three tells it; numbers to six digits."""
    if isinstance(cell, int | float | Decimal):
        return f"{float(cell):.6g}"
    if isinstance(cell, datetime):
        return (cell if cell.tzinfo else cell.replace(tzinfo=UTC)).isoformat()
    return cell.isoformat() if isinstance(cell, date) else str(cell)
