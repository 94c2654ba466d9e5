"""The same tables and reports by DuckDB, of the same files, compared with Spark's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from dashboards.pipeline import events, manifest, silver
from dashboards.pipeline.fields.message_fields import FIELDS
from dashboards.reports import (
    rule_backtest,
    rule_evaluation,
    what_if,
)
from dashboards.reports.declaration import AS_OF, Report, Values
from tests.bench.archive.duck import Duck, Frame
from tests.dashboards.files import place

SCHEMAS = {**silver.SCHEMAS, manifest.MESSAGES: FIELDS, manifest.BRONZE: events.EVENTS}
Frames = Mapping[str, Frame]


def frame_of(duck: Duck, table: str, span: manifest.Span | None = None) -> Frame:
    """A table of the archive, as it is published; of some days."""
    files = manifest.touching(table, span) if span else manifest.current(table)
    return duck.files(map(place, files), SCHEMAS[table])


def report_of(
    duck: Duck, report: Report, said: Mapping[str, Any], inputs: Frames, as_of: datetime
) -> pa.Table:
    """The rows of a report."""
    values = report.read(said) | {AS_OF: as_of}
    build: Callable[..., Any] = BUILDS.get(report.slug, report.build)
    found = build(inputs, values)
    frame = found if isinstance(found, Frame) else duck.table(found)
    columns = (f"CAST(`{one.name}` AS {one.stored})" for one in report.columns)
    rows = duck.sql(f"SELECT {', '.join(columns)} FROM {{frame}}", frame=frame).rows()
    return rows.rename_columns([one.name for one in report.columns])


def policies(inputs: Frames, values: Values) -> Frame:
    """``what_if.build``; its policies are tried in this process."""
    duck = inputs["open"].sparkSession
    stays: dict[str, Any] = {one: inputs[one] for one in ("lifelines", "open")}
    link = duck.sql(what_if.LINKS, **stays).localCheckpoint()
    tries = duck.sql(what_if.TRIES, deliveries=inputs["deliveries"], link=link)
    told = duck.sql(what_if.STORIES, tries=tries.localCheckpoint(), **stays).rows()
    found = what_if.fates(
        pa.array(told.to_pylist(), pa.struct(list(told.schema))),
        what_if.policies_of(values),
    )
    fate = duck.table(pa.table({"queue": told["queue"], "fates": found}))
    flat = f"SELECT queue, unnest(fates, recursive := true) FROM {fate.name}"
    return duck.sql(what_if.SUMMED, fate=duck.made(flat))


def rules(inputs: Frames, values: Values) -> pa.Table:
    """``rule_backtest.build``; rules are tried in this process by Spark, too."""
    duck = inputs["open"].sparkSession
    stays: dict[str, Any] = {one: inputs[one] for one in ("lifelines", "open")}
    named = duck.sql(
        """
        SELECT queue_id FROM {lifelines} WHERE queue = :queue UNION ALL
        SELECT queue_id FROM {open} WHERE queue = :queue
        """,
        args={"queue": values["queue"]},
        **stays,
    )
    groups = duck.sql(rule_backtest.GROUPS, named=named, **stays).rows().to_pylist()
    table = rule_evaluation.table_of(values["queue"], values["rules"])
    told = (rule_evaluation.LetterGroup(**one) for one in groups)
    return pa.Table.from_pylist(list(rule_evaluation.judged(table, told)))


BUILDS: Mapping[str, Callable[..., Any]] = {
    "what-if": policies,
    "rule-backtest": rules,
}


def require_same(what: str, ours: pa.Table, theirs: pa.Table) -> None:
    """
    Raises:
        AssertionError: the rows differ, in more than what sums of floats lose.
    """
    one, two = (Counter(map(about, rows.to_pylist())) for rows in (ours, theirs))
    left = [*(one - two)][:2], [*(two - one)][:2]
    assert one == two, f"{what} differs; of Spark, of DuckDB: {left}"


def about(row: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(
        f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row.values()
    )
