"""Silver by DuckDB: all columns of Spark's, from the same files, into Parquet files.

The windows, and the tables that are made of them, are those of ``pipeline.events`` and
``pipeline.silver``, translated; how lines are read and repaired is no SQL of DuckDB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from dashboards.pipeline import events, silver
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
SELECT {events.LINE}, place AS turn FROM {{broken}}
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
    stays: Any = silver.with_parents(silver.stays(lines, days), lines, few=False)
    rows = {
        "deliveries": silver.deliveries(lines),
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
    told: Any = events.told(events.ordered(lines))
    duck: Duck = told.sparkSession
    return duck.sql(f"SELECT * FROM {{told}} WHERE {silver.NEEDED}", told=told)


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
    ordered: Any = events.ordered(broken)  # type: ignore[arg-type]
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
    """As ``events.chained``: the new place of each line of an unordered entry."""
    entries: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for line in broken.to_pylist():
        entries.setdefault((line["queue_id"], line["message_id"]), []).append(line)
    return [
        {"queue_id": entry[0], "message_id": entry[1], "o": line["o"], "place": place}
        for entry, lines in entries.items()
        for place, line in enumerate(chain(sorted(lines, key=lambda one: one["o"])))
    ]


def chain(rest: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    first = min(line["day"] for line in rest if line["day"])
    for line in rest:
        line["of_day"] = line["day"] or first
    unordered = {line["of_day"] for line in rest if line["broken"]}
    place = None
    while rest:
        fits = (
            n
            for n, line in enumerate(rest)
            if line["of_day"] == rest[0]["of_day"]
            and (line["came"] or 0) == (place or 0)
        )
        starts = place is None and rest[0]["of_day"] not in unordered
        line = rest.pop(0 if starts else next(fits, 0))
        place = line["went"]
        yield line
