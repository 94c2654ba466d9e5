"""Silver by DuckDB: all columns of Spark's, from the same files, into Parquet files.

The windows, and the tables that are made of them, are those of ``rival_sql``,
translated; how lines are read is SQL of DuckDB only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from dashboards.pipeline import events, silver
from dashboards.pipeline.timelines import Line, chain
from tests.bench.archive import rival_sql
from tests.bench.archive.duck import COLUMN, Duck, Frame

LINES = f"""
SELECT queue_id, message_id, coalesce(queue, 'deleted queue ' || queue_id) AS queue,
    "at", seq, kind, came, went, uow, actor,
    left(detail ->> '$.error', {events.LONGEST_ERROR}) AS error, fingerprint,
    coalesce(detail ->> '$.cause', CASE WHEN kind = {events.EXPIRED} THEN 'EXPIRED' END)
        AS cause,
    TRY_CAST(detail -> '$.copies' ->> (nth - 1) AS bigint) AS copy,
    TRY_CAST(detail -> '$.due_at' ->> (nth - 1) AS timestamptz) AS due_at,
    TRY_CAST(detail ->> '$.operation' AS bigint) AS operation,
    TRY_CAST(detail ->> '$.repaired' AS boolean) AS repaired,
    CAST(NULL AS STRUCT({{c}})) AS c, CAST("at" AS date) AS day, 1 AS turn
FROM (SELECT * EXCLUDE (came_from, went_to), came_from AS came, went_to AS went,
        unnest(ids) AS message_id, generate_subscripts(ids, 1) AS nth
    FROM {{events}} WHERE kind <> {events.CARRIED})
UNION ALL
SELECT queue_id, message_id, queue, since, last_seq, 0, NULL,
    CASE place WHEN 'ready' THEN 1 WHEN 'claimed' THEN 2 WHEN 'delayed' THEN 3 END, uow,
    handler, NULL, NULL, NULL, NULL, due_at, NULL, NULL, c, NULL, 0
FROM {{before}} AS c
"""  # constants
# Most entries have no stay that was open before, so their lines have no columns of one.
TYPES = dict(re.findall(COLUMN, events.OPEN))
WITHOUT = {
    r"\bc IS NOT NULL\b": "false",
    r"\brepaired, c\b": "repaired",
    **{rf"\bc\.{name}\b": f"CAST(NULL AS {type_})" for name, type_ in TYPES.items()},
}
AGAIN = f"""
SELECT {rival_sql.LINE}, place AS turn FROM {{broken}}
JOIN {{again}} AS again USING (queue_id, message_id, o)
"""  # constants
WRITTEN = "FORMAT parquet, COMPRESSION zstd, OVERWRITE"


def write(
    journal: Frame, before: Frame, days: Sequence[date], folder: Path
) -> dict[str, Path]:
    """The tables of some days, each a folder of files by day.

    Args:
        journal: the events of these days.
        before: the stays that were open before them.
    """
    duck = journal.sparkSession
    fields = duck.ask(f"DESCRIBE {before.name}")
    types = ", ".join(f'"{name}" {type_}' for name, type_, *_ in fields)
    query = LINES.format(events=journal.name, before=before.name, c=types)
    told = needed(every := duck.made(query), before)
    broken = duck.sql("SELECT * FROM {told} WHERE unordered", told=told)
    if moved := chains(broken.rows()):
        told = mended(every, told, moved)
    lines: Any = told
    stays: Any = rival_sql.with_parents(rival_sql.stays(lines, days), lines, few=False)
    rows = {
        "deliveries": rival_sql.deliveries(lines),
        "lifelines": duck.sql("SELECT * FROM {s} WHERE place IS NULL", s=stays),
        "open": duck.sql("SELECT * FROM {s} WHERE place IS NOT NULL", s=stays),
    }
    return {table: written(duck, found, table, folder) for table, found in rows.items()}


def needed(every: Frame, before: Frame) -> Frame:
    """The lines that tables need, computed once."""
    duck = every.sparkSession
    both: dict[str, Any] = {"every": every, "before": before}
    with duck.also_rewriting(WITHOUT):
        fresh = told_of(
            duck.sql("SELECT * EXCEPT (c) FROM {every} LEFT ANTI JOIN {before} USING "
                     "(queue_id, message_id)", **both)
        )  # fmt: skip
    carried = told_of(
        duck.sql("SELECT * FROM {every} LEFT SEMI JOIN {before} USING "
                 "(queue_id, message_id)", **both)
    )  # fmt: skip
    return both_of(fresh, carried)


def told_of(lines: Any) -> Frame:
    told: Any = rival_sql.told(rival_sql.ordered(lines))
    duck: Duck = told.sparkSession
    return duck.sql(f"SELECT * FROM {{told}} WHERE {rival_sql.NEEDED}", told=told)


def both_of(one: Frame, two: Frame) -> Frame:
    found = f"""(SELECT * EXCLUDE (c) FROM {two.name} UNION ALL BY NAME
        FROM {one.name})"""  # names
    return one.sparkSession.made(f"FROM {found}").localCheckpoint()


def mended(every: Frame, told: Frame, places: list[dict[str, Any]]) -> Frame:
    """The lines, those of unordered entries in their new places."""
    duck = told.sparkSession
    again = duck.table(pa.Table.from_pylist(places))
    broken = duck.made(
        f"""FROM {every.name} WHERE (queue_id, message_id) IN
        (SELECT (queue_id, message_id) FROM {again.name})"""  # names
    )
    ordered: Any = rival_sql.ordered(broken)
    moved = duck.sql(AGAIN, broken=ordered, again=again)
    rest = duck.sql("SELECT * FROM {told} WHERE NOT unordered", told=told)
    return both_of(rest, told_of(moved))


def written(duck: Duck, rows: Any, table: str, folder: Path) -> Path:
    columns = ", ".join(one.split()[0] for one in silver.SCHEMAS[table].split(","))
    path = folder / table
    duck.ask(
        f"""COPY (SELECT {columns}, day AS of FROM {rows.name})
        TO '{path}' ({WRITTEN}, PARTITION_BY (of))"""  # names
    )
    return path


def chains(broken: pa.Table) -> list[dict[str, Any]]:
    """The new place of each line of an unordered entry."""
    entries: dict[tuple[int, int], list[Line]] = {}
    for one in broken.to_pylist():
        places = (one["came"] or 0, one["went"] or 0)
        line = Line(one["o"], 0, one["day"], *places, one["broken"])
        entries.setdefault((one["queue_id"], one["message_id"]), []).append(line)
    return [
        {"queue_id": entry[0], "message_id": entry[1], "o": o, "place": place}
        for entry, lines in entries.items()
        for place, o in enumerate(chain(sorted(lines)))
    ]
