"""The whole pipeline on journals that grow, a client of the broker beside it; then the
same questions to PostgreSQL and DuckDB."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from django.conf import settings
from django.db.models import Sum

from dashboards.models import ExportWindow
from dashboards.spark import session
from tests.bench import ground, machine, report
from tests.bench.archive import rivals, stories
from tests.bench.live import Live, Took, client
from tests.dashboards.files import root
from tests.tools.reports.cluster import forget

BEFORE_S = 30.0  # for which the client is watched with nothing beside it
CALM = 1.5  # what its p99 may become, against before
TITLE = "Reports on {many} million events"
HEAD = ("events", "step", "s", "events/s", "put p99 ms", "get p99 ms", "rows")
PROSE = """\
Written by `make bench ARGS="--reports {many} --write"`; Spark had {cores} thread(s).
The p99 of a client beside it may be {calm} times that of before.

```
{table}
```

A ratio above one is time that Spark saves.

```
{ratios}
```

{machine}"""
RATIOS = ("events", "question", "Spark s", "PostgreSQL s", "ratio", "DuckDB s", "ratio")


@dataclass(frozen=True)
class Step:
    """What the driver did, and what the client beside it felt."""

    name: str
    seconds: float
    rows: int | None
    felt: Took


@dataclass(frozen=True)
class Run:
    """All of one journal."""

    events: int
    before: Took
    steps: list[Step]
    memory_mb: float  # of the driver with its Java, at most
    postgresql: dict[str, float]
    duckdb: dict[str, float]


def measure(
    say: Callable[[str], None], millions: list[int], *, write: bool = False
) -> None:
    """Print the tables; on request, write them."""
    say("Making a database")
    with ground.own_database() as database, TemporaryDirectory() as var:
        described = machine.describe()
        stories.begin()
        made = 0
        for many in sorted(millions):
            say(f"{many} million events")
            stories.write(made, many)
            made = many
            one = run(database, Path(var) / str(many), say)
            tell(many, one, described, write=write)


def tell(many: int, one: Run, described: list[str], *, write: bool) -> None:
    """The tables of one run, at once: the next may take hours."""
    text = report.aligned([HEAD, *rows_of(one)])
    ratios = report.aligned([RATIOS, *ratios_of(one)])
    print("", *described, "", text, "", ratios, sep="\n", flush=True)
    if write:
        said = PROSE.format(
            many=many,
            cores=session.CORES,
            calm=CALM,
            table=text,
            ratios=ratios,
            machine="\n".join(f"- {line}" for line in described),
        )
        report.write_part(TITLE.format(many=many), said)


def run(database: str, var: Path, say: Callable[[str], None]) -> Run:
    forget()
    settings.VAR_DIR = var
    with client(database) as beside:
        beside.over(2)  # to warm up
        before = beside.over(BEFORE_S)
        steps, memory_mb = driven(database, var, beside, say)
    events = ExportWindow.objects.aggregate(rows=Sum("rows"))["rows"]
    say("The same of PostgreSQL")
    postgresql = rivals.of_postgresql()
    say("The same of DuckDB")
    duckdb = rivals.of_duckdb(session.CORES, root())
    return Run(events, before, steps, memory_mb, postgresql, duckdb)


def driven(
    database: str, var: Path, beside: Live, say: Callable[[str], None]
) -> tuple[list[Step], float]:
    """Each step of a driver in a process of its own, and the memory that it took."""
    command = [sys.executable, "-m", "tests.bench.archive.driver", database]
    steps: list[Step] = []
    memory_mb = 0.0
    with subprocess.Popen(
        [*command, str(var)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # as the worker is started
    ) as driver:
        assert driver.stdout
        began = time.perf_counter()
        beside.mark()
        for line in driver.stdout:
            name, rows = json.loads(line)
            now = time.perf_counter()
            steps.append(Step(name, now - began, rows, beside.mark()))
            began = now
            memory_mb = max(memory_mb, memory_of(driver.pid))
            say(f"  {name}: {steps[-1].seconds:.1f} s")
    if driver.returncode:
        raise ground.WrongError(f"The driver ended with {driver.returncode}.")
    return steps, memory_mb


def memory_of(pid: int) -> float:
    """Of a process and all below it, in MB."""
    one = psutil.Process(pid)
    every = [one, *one.children(recursive=True)]
    return float(sum(process.memory_info().rss for process in every)) / 2**20


def rows_of(one: Run) -> Iterator[tuple[str, ...]]:
    put, get = one.before.p99s
    events = f"{one.events:,}"
    yield events, "nothing beside", "", "", f"{put:.2f}", f"{get:.2f}", ""
    felt = Took()
    for step in one.steps:
        felt += step.felt
        yield (events, *row_of(one.events, step))
    whole = Step("all", sum(step.seconds for step in one.steps), None, felt)
    yield (events, *row_of(one.events, whole))
    more = [
        after / before for after, before in zip(felt.p99s, one.before.p99s, strict=True)
    ]
    yield (events, "against before", "", "", *(f"{ratio:.2f}x" for ratio in more), "")
    yield events, "memory, MB", f"{one.memory_mb:,.0f}", "", "", "", ""


def row_of(events: int, step: Step) -> tuple[str, ...]:
    put, get = step.felt.p99s
    return (
        step.name,
        f"{step.seconds:,.1f}",
        f"{events / step.seconds:,.0f}",
        f"{put:.2f}",
        f"{get:.2f}",
        "" if step.rows is None else f"{step.rows:,}",
    )


def ratios_of(one: Run) -> Iterator[tuple[str, ...]]:
    spark = {step.name: step.seconds for step in one.steps}
    spark["attempts and stays"] = spark["silver"]
    totals = [0.0, 0.0, 0.0]
    for question in one.postgresql:
        seconds = [spark[question], one.postgresql[question], one.duckdb[question]]
        totals = [sum(pair) for pair in zip(totals, seconds, strict=True)]
        yield (f"{one.events:,}", question, *compared(seconds))
    yield (f"{one.events:,}", "together", *compared(totals))


def compared(seconds: list[float]) -> tuple[str, ...]:
    """Each, and how many times as long as Spark's each of the others is."""
    spark, *others = seconds
    told = [
        text for other in others for text in (f"{other:,.1f}", f"{other / spark:.2f}")
    ]
    return (f"{spark:,.1f}", *told)
