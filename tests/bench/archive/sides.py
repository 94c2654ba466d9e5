"""Both sides of a step: Spark's cost, and DuckDB's for the same, in turn."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from dashboards.pipeline import (
    bronze,
    compaction,
    gold,
    manifest,
    silver,
    silver_days,
)
from dashboards.pipeline.events import OPEN
from dashboards.pipeline.manifest import BRONZE, MESSAGES, Span, touching
from dashboards.pipeline.report_rows import table_of
from dashboards.pipeline.run import keep_days
from dashboards.reports import discover
from dashboards.reports.declaration import Report
from dashboards.spark import cpu_share, session
from tests.bench.archive import rival_silver, rivals
from tests.bench.archive.costs import Cost, Meter
from tests.bench.archive.duck import Duck, Frame
from tests.dashboards.files import place
from tests.tools.reports.cluster import SAID

# Called in the rival's thread; measured until it returns what then compares.
Ask = Callable[[], Callable[[], None]]


class Steps:
    """Prints what each step has cost."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.began = self.meter.now()
        self.last = ThreadPoolExecutor(1, initializer=cpu_share.come_last)

    def end(self, name: str, rows: int | None = None, rival: Ask | None = None) -> None:
        reached = self.meter.now()
        print(json.dumps(["spark", name, rows, reached - self.began]), flush=True)
        self.began = reached
        if rival:
            began = now()
            if answered := self.last.submit(cost_of, name, rival).result():
                print(json.dumps(["duckdb", name, rows, answered]), flush=True)
            self.meter.not_ours += now() - began


def cost_of(name: str, ask: Ask) -> Cost | None:
    """What a rival's answer costs, without the comparison; None: it ran out of memory
    or of disk."""
    began = now()
    try:
        compare = ask()
    except duckdb.OutOfMemoryException as error:
        print(f"DuckDB, {name}: {error}", file=sys.stderr)
        return None
    answered = now() - began
    compare()
    return answered


def now() -> Cost:
    return Cost(time.perf_counter(), time.process_time())


class Rival:
    """DuckDB, with as many threads as Spark, and as much memory as its processes."""

    def __init__(self, var: Path, threads: int) -> None:
        self.folder = var / "rival"
        self.folder.mkdir(exist_ok=True)
        self.threads = threads

    def duck(self) -> Duck:
        (self.folder / "rival.duckdb").unlink(missing_ok=True)
        return Duck(self.folder, self.threads)

    def silver(self, days: Sequence[date]) -> Ask:
        """The tables of some days, as files."""

        def ask() -> Callable[[], None]:
            duck = self.duck()
            journal = rivals.frame_of(duck, BRONZE, Span(days[0], days[-1]))
            last = silver_days.last_before(days[0])
            span = last and Span(last.day, last.day)
            files = touching("open", span) if span else ()
            before = duck.files(map(place, files), OPEN)
            found = rival_silver.write(journal, before, days, self.folder)
            return lambda: same_files(duck, found, days)

        return ask

    def days_of(self, report: Report, days: Sequence[date], as_of: datetime) -> Ask:
        """The rows of a report of some days; Spark has published its own."""
        span = Span(min(days), max(days))
        ours = [place(file) for file in touching(table_of(report), span)]
        return self.ask(
            report, span, {}, lambda: pa.concat_tables(map(pq.read_table, ours)), as_of
        )

    def run_of(
        self, report: Report, said: Mapping[str, Any], ours: pa.Table, as_of: datetime
    ) -> Ask:
        """The rows of a report with parameters."""
        span = gold.period(report.read(said), as_of.date())
        return self.ask(report, span, said, lambda: ours, as_of)

    def ask(
        self,
        report: Report,
        span: Span,
        said: Mapping[str, Any],
        ours: Callable[[], pa.Table],
        as_of: datetime,
    ) -> Ask:
        def ask() -> Callable[[], None]:
            duck = self.duck()
            inputs: dict[str, Frame] = {
                one: rivals.frame_of(duck, one, None if one == MESSAGES else span)
                for one in report.inputs
            }
            theirs = rivals.report_of(duck, report, said, inputs, as_of)
            return lambda: rivals.require_same(report.slug, ours(), theirs)

        return ask


def same_files(duck: Duck, found: Mapping[str, Path], days: Sequence[date]) -> None:
    """
    Raises:
        AssertionError: a row of silver differs.
    """
    duck.ask("SET memory_limit = '8GB'")  # what it compares is not measured
    for table, folder in found.items():
        ours = rivals.frame_of(duck, table, Span(days[0], days[-1])).name
        files = sorted(folder.glob("*/*.parquet"))
        theirs = duck.files(files, silver.SCHEMAS[table]).name
        both = (f"FROM {ours} EXCEPT ALL FROM {theirs}",
                f"FROM {theirs} EXCEPT ALL FROM {ours}")  # fmt: skip
        wrong = [duck.ask(f"SELECT count(*) FROM ({one})")[0][0] for one in both]
        assert wrong == [0, 0], f"{table} differs in {wrong} rows"


def perform(var: Path, run: int) -> None:
    """Each step of both sides.

    Args:
        var: the folder of the archive.
        run: whose number the files bear.
    """
    cpu_share.give_way()
    steps = Steps()
    as_of = bronze.export(lambda _: None)
    steps.end("copying")
    events = manifest.rows_of(BRONZE, silver_days.windows())
    steps.meter.spark = spark = session.spark(var, events=events)
    steps.end("starting Spark")
    rival = Rival(var, session.CORES)
    days = silver_days.stale()
    silver_days.bring_up_to_date(spark, run, as_of, around)
    steps.end("silver", rival=rival.silver(days))
    compaction.keep_small(as_of, keep_days())
    steps.end("compaction")
    for slug, report in sorted(discover().items()):
        if report.is_by_day:
            some = list(gold.stale(report))
            rows = gold.bring_up_to_date(spark, run, report, as_of, around)
            asked = rival.days_of(report, some, as_of)
        else:
            names = {one.name for one in report.parameters}
            said = {name: value for name, value in SAID.items() if name in names}
            found = gold.answer(spark, report, said, as_of)
            rows = found.num_rows
            asked = rival.run_of(report, said, found, as_of)
        steps.end(slug, rows, asked)


def around(*_: float) -> nullcontext[None]:
    return nullcontext()
