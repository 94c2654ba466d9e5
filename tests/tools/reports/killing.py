"""The driver killed in the middle of a run: the same tables as if it had not been?

    .venv/bin/python manage.py with_servers \
        .venv/bin/python -m tests.tools.reports.killing --kills 10 --seed 7

It makes a history of some days, runs the pipeline once undisturbed, and keeps every row
of every table. Then, once for each seeded point: from an empty archive it runs the same
in another process, kills that (``kill -9``), runs it again to its end, and compares
(exit 1 where anything differs). The first points are places, so that each stage is hit:
the n-th file of one stage has just come to the disk. The others are moments.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import django

from tests.console.until import until
from tests.tools.reports.cluster import PROJECT, SHORT_LIVED, forget

PATIENCE = 600.0  # seconds, on a machine that does much else
HOURS = 60  # of history: three days of the calendar
WINDOWS = 12  # so that each day lies in several, as after weeks of runs
REPORTS: Mapping[str, dict[str, Any]] = {
    "throughput": {},
    "redelivery": {},
    "debt": {},
    "causes": {"days": 400},
}
STAGES = {  # what each leaves on the disk, and what a page says of a run in it
    "copying": ("bronze/*/0*", "Copying the journal to the archive"),
    "silver": ("silver/*/run-*", "Following each message"),
    "compaction": ("bronze/*/through-*", "Putting the archive in order"),
    "gold": ("gold/*/*/run-*", "Counting"),
}
LEAST, MOST = 0.05, 0.95  # share of the undisturbed run that is over


@dataclass(frozen=True)
class Point:
    """Where to kill: after some seconds, or when so many files are there."""

    share: float
    seconds: float = 0
    stage: str = ""
    files: int = 0

    def __str__(self) -> str:
        if self.stage:
            return f"{self.stage}, file {self.files}"
        return f"{self.share:.0%} of the time"

    def is_reached(self, var: Path, seconds: float) -> bool:
        if self.stage:
            return count_of(self.stage, var) >= self.files
        return seconds >= self.seconds


def count_of(stage: str, var: Path) -> int:
    pattern, _ = STAGES[stage]
    return len({path.with_suffix("") for path in (var / "reports").glob(pattern)})


def points(seed: int, files: Mapping[str, int], seconds: float) -> Iterator[Point]:
    """One in each stage, then moments, without end.

    Args:
        seed: of the dice.
        files: how many each stage leaves when nobody disturbs it.
        seconds: what all of it takes then.
    """
    draw = Random(seed)
    for stage, most in files.items():
        share = draw.uniform(LEAST, MOST)
        yield Point(share, stage=stage, files=max(1, int(share * most)))
    for _ in count():
        share = draw.uniform(LEAST, MOST)
        yield Point(share, seconds=share * seconds)


@dataclass(frozen=True)
class Trial:
    """Drivers of one archive."""

    database: str
    var: Path
    most: int  # events in one window

    def start(self) -> subprocess.Popen[bytes]:
        """A driver in a session of its own: so its Java is known after its death."""
        from django.conf import settings  # noqa: PLC0415

        settings.VAR_DIR = self.var
        self.var.mkdir(parents=True, exist_ok=True)
        what = [self.database, str(self.var), str(self.most)]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.tools.reports.killing", *what],
                env={**os.environ, "JAVA_TOOL_OPTIONS": SHORT_LIVED},
                stdout=log,
                stderr=log,
                cwd=PROJECT,
                start_new_session=True,
            )

    @property
    def log(self) -> Path:
        return self.var / "driver.log"

    def finish(self) -> float:
        """Run all to its end; how many seconds that took."""
        began = time.monotonic()
        driver = self.start()
        code = driver.wait(PATIENCE)
        assert code == 0, self.log.read_text()[-3000:]
        took = time.monotonic() - began
        until(lambda: not processes_of(driver.pid), PATIENCE)
        return took

    def kill(self, point: Point) -> float | None:
        """Kill a driver there; how many seconds later its Java was gone.

        None if the driver came to its end before.
        """
        driver = self.start()
        began = time.monotonic()
        while driver.poll() is None:
            if point.is_reached(self.var, time.monotonic() - began):
                break
            time.sleep(0.005)
        driver.kill()
        died = time.monotonic()
        code = driver.wait()
        until(lambda: not processes_of(driver.pid), PATIENCE)
        return time.monotonic() - died if code == -signal.SIGKILL else None


def processes_of(session: int) -> list[int]:
    """Who of a session lives."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = re.sub(r".*\) ", "", stat.read_text()).split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


def drive(var: Path, most: int) -> None:
    """Every report in turn, as the worker runs them, in this process."""
    from functools import partial  # noqa: PLC0415

    from django.conf import settings  # noqa: PLC0415

    from dashboards.pipeline import bronze, runs  # noqa: PLC0415
    from dashboards.pipeline.run import perform  # noqa: PLC0415
    from dashboards.spark import session  # noqa: PLC0415
    from tests.dashboards.conftest import FEW_ROWS  # noqa: PLC0415

    settings.VAR_DIR = var
    bronze.export = partial(bronze.export, most=most)
    for name, value in FEW_ROWS.items():  # the worker's Spark, too, is warm
        session.spark(var).conf.set(name, value)
    for slug, said in REPORTS.items():
        perform(runs.ask_for(slug, parameters=said).pk)


def died_in() -> str:
    """The report and the stage of the run that nobody runs any more."""
    from dashboards.models import ReportRun  # noqa: PLC0415

    run = ReportRun.objects.filter(state=ReportRun.State.RUNNING).first()
    stages = {stage: name for name, (_, stage) in STAGES.items()}
    return f"{run.report}: {stages.get(run.stage, run.stage)}" if run else "no run"


def left() -> str:
    from dashboards.models import ExportWindow  # noqa: PLC0415
    from tests.tools.reports import archived  # noqa: PLC0415

    windows = ExportWindow.objects.filter(state=archived.OPEN).count()
    assert windows <= 1, "two windows are open"
    return f"{windows} open, {len(archived.unlisted())} unlisted"


def compare(database: str, var: Path, kills: int, seed: int) -> bool:
    """Print a line for each kill, and where tables differ."""
    from tests.tools.reports import archived  # noqa: PLC0415

    trial = Trial(database, var / "undisturbed", most_of_windows())
    seconds = trial.finish()
    expected = archived.tables()
    files = {stage: count_of(stage, trial.var) for stage in STAGES}
    print(f"undisturbed: {seconds:.0f} s, {size(expected)}, {files}", flush=True)
    wrong = list(archived.faults())
    hit: list[str] = []
    for n, point in enumerate(points(seed, files, seconds), 1):
        forget()
        trial = Trial(database, var / f"kill-{n}", trial.most)
        java = trial.kill(point)
        if java is None:
            print(f"{point}: it had ended before", flush=True)
            continue
        hit.append(died_in())
        told = f"{point} | {hit[-1]} | {left()} | Java gone in {java:.1f} s"
        again = trial.finish()
        found = archived.tables()
        differ = [*archived.differences(found, expected), *archived.faults()]
        same = "NOT EQUAL" if differ else "equal"
        print(f"{told} | again {again:.0f} s | {size(found)} {same}", flush=True)
        wrong += [f"{point}: {one}" for one in differ]
        if len(hit) == kills:
            break
    if kills >= len(STAGES):
        wrong += [f"Nobody died in {one}." for one in STAGES if one not in str(hit)]
    for one in wrong:
        print(one)
    return not wrong


def size(tables: Mapping[str, Mapping[str, int]]) -> str:
    rows = sum(sum(of.values()) for of in tables.values())
    return f"{rows} rows of {len(tables)} tables"


def most_of_windows() -> int:
    """How many events a window has, so that the history lies in ``WINDOWS``."""
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM broker_event")
        return int(cursor.fetchone()[0]) // WINDOWS + 1


def main() -> None:
    parser = ArgumentParser(prog="tests.tools.reports.killing", description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("database", nargs="?", help="to run in, and nothing else")
    parser.add_argument("var", nargs="?", type=Path, help="where its files go")
    parser.add_argument("most", nargs="?", type=int, help="events of a window")
    asked = parser.parse_args()
    django.setup()
    from django.conf import settings  # noqa: PLC0415

    if asked.database:
        settings.DATABASES["default"]["NAME"] = asked.database
        drive(asked.var, asked.most)
        return
    from tests.bench.ground import own_database  # noqa: PLC0415
    from tests.dashboards.losses import make_losses  # noqa: PLC0415

    with own_database() as database, TemporaryDirectory() as var:
        make_losses(hours=HOURS)
        is_same = compare(database, Path(var), asked.kills, asked.seed)
    sys.exit(not is_same)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    main()
