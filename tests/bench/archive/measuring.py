"""The whole pipeline on journals that grow, a client of the broker beside it; DuckDB
does each step in turn with it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from django.conf import settings
from django.db.models import Sum

from dashboards.models import ExportWindow
from dashboards.spark import session
from tests.bench import ground, machine, report
from tests.bench.archive import idle_group, stories
from tests.bench.archive.costs import Cost
from tests.bench.live import Live, Took, client
from tests.tools.reports.cluster import forget

BEFORE_S = 30.0  # for which the client is watched with nothing beside it
CALM = 1.5  # what its p99 may become, against before
START, SILVER = "starting Spark", "silver"
TITLE = "Reports on {many}"
HEAD = ("step", "s", "CPU s", "compiling", "collecting", "tasks", "planning", "jobs",
        "DuckDB s", "CPU s", "times", "put p99", "get p99", "rows")  # fmt: skip
PROSE = """\
Written by `make bench ARGS="--reports {asked} --write"`: {events} events more, Spark on
{cores} thread(s). DuckDB does each step after it, of the same files, with all the same
columns, as many threads and as late, and with 2 GB of memory; its rows are compared. It
has no figure where that was not enough. Seconds; *times* is Spark's processor time by
DuckDB's. Of Spark's, *compiling* is of Java's compilers,
*collecting* of its garbage, *planning* what is left: plans, generated code, Python. Its
steps also check and publish rows. *All* is without the start of Java. p99 are
milliseconds of a client beside Spark, which may be {calm} times those of before.

```
{table}
```

{machine}"""


@dataclass(frozen=True)
class Step:
    """What the driver did, and what the client beside it felt."""

    name: str
    cost: Cost
    rows: int | None = None
    felt: Took = field(default_factory=Took)
    rival: Cost | None = None


@dataclass(frozen=True)
class Run:
    """All of one journal."""

    events: int
    before: Took
    steps: list[Step]
    memory_mb: float  # of the driver with its Java, at most


def measure(
    say: Callable[[str], None], millions: list[int], night: int, *, write: bool = False
) -> None:
    """Print the tables; on request, write them.

    Args:
        millions: of events, of each journal.
        night: if any, so many millions come to each when it has been reported, and
            are measured too.
    """
    for many in sorted(millions):
        say(f"Making {many} million events")
        with ground.own_database() as database, TemporaryDirectory() as var:
            described = [*machine.describe(), idle_group.described()]
            stories.begin()
            stories.write(night, night + many)
            one = run(database, Path(var), 1, say)
            asked = f"{many} --night {night}" if night else str(many)
            tell(asked, title_of(many, 0), one, described, write=write)
            if night:
                say(f"Making {night} million events")
                stories.write(0, night, late=True)
                one = run(database, Path(var), 2, say)
                tell(asked, title_of(many, night), one, described, write=write)


def title_of(many: int, night: int) -> str:
    if night:
        return f"Reports on a night of {night} million events after {many}"
    return f"Reports on {many} million events"


def tell(
    asked: str, title: str, one: Run, described: list[str], *, write: bool
) -> None:
    """The table of one run, at once: the next may take hours."""
    text = report.aligned([HEAD, *rows_of(one)])
    print("", *described, "", f"{one.events:,} events", text, sep="\n", flush=True)
    if write:
        said = PROSE.format(
            asked=asked,
            events=f"{one.events:,}",
            cores=session.CORES,
            calm=CALM,
            table=text,
            machine="\n".join(f"- {line}" for line in described),
        )
        report.write_part(title, said)


def run(database: str, var: Path, number: int, say: Callable[[str], None]) -> Run:
    """
    Args:
        number: of the run; the first begins with an empty archive.
    """
    if number == 1:
        forget()
    settings.VAR_DIR = var
    had = exported()
    with client(database) as beside:
        beside.over(2)  # to warm up
        before = beside.over(BEFORE_S)
        command = [database, str(var), str(number)]
        steps, memory_mb = driven(command, beside, say)
    return Run(exported() - had, before, steps, memory_mb)


def exported() -> int:
    return ExportWindow.objects.aggregate(rows=Sum("rows"))["rows"] or 0


def driven(
    command: list[str], beside: Live, say: Callable[[str], None]
) -> tuple[list[Step], float]:
    """Each step of a driver in a process of its own, and the memory that it took."""
    steps: list[Step] = []
    memory_mb = 0.0
    with (
        idle_group.idle_group() as group,
        subprocess.Popen(
            [sys.executable, "-m", "tests.bench.archive.driver", *command],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # as the worker is started
        ) as driver,
    ):
        idle_group.put_in(group, driver.pid)
        assert driver.stdout
        beside.mark()
        for line in driver.stdout:
            side, name, rows, spent = json.loads(line)
            felt, cost = beside.mark(), Cost(*spent)
            if side == "spark":
                steps.append(Step(name, cost, rows, felt))
                memory_mb = max(memory_mb, memory_of(driver.pid))
            else:
                last = steps.pop()
                steps.append(Step(name, last.cost, rows, last.felt, cost))
            say(f"  {side} {name}: {cost.wall_s:.1f} s, {cost.cpu_s:.1f} CPU-s")
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
    yield ("nothing beside", *[""] * 10, f"{put:.2f}", f"{get:.2f}", "")
    for step in one.steps:
        yield row_of(step)
    later = [step for step in one.steps if step.name != START]
    reports = later[[step.name for step in later].index(SILVER) + 1 :]
    yield row_of(whole("all reports", reports))
    yield row_of(whole("all", later))
    after = whole("all", one.steps).felt.p99s
    more = (f"{now / then:.2f}x" for now, then in zip(after, (put, get), strict=True))
    yield ("against before", *[""] * 10, *more, "")
    yield ("memory, MB", f"{one.memory_mb:,.0f}", *[""] * 12)


def whole(name: str, steps: list[Step]) -> Step:
    """Some steps as one. The rival's is of those that it did, too."""
    felt = Took()
    for step in steps:
        felt += step.felt
    costs = [step.cost for step in steps]
    rivals = [step.rival for step in steps if step.rival]
    return Step(name, sum(costs, Cost()), None, felt, sum(rivals, Cost()))


def row_of(step: Step) -> tuple[str, ...]:
    put, get = step.felt.p99s
    cost, rival = step.cost, step.rival
    return (
        step.name,
        *(f"{one:.1f}" for one in (*cost[:5], cost.planning_s)),
        f"{cost.jobs:.0f}",
        *(f"{one:.1f}" if rival else "" for one in (rival or Cost())[:2]),
        f"{cost.cpu_s / rival.cpu_s:.1f}" if rival else "",
        f"{put:.2f}",
        f"{get:.2f}",
        "" if step.rows is None else f"{step.rows:,}",
    )
