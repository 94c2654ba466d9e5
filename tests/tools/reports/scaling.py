"""Two workers of a cluster against one: how they share silver and reports.

    manage.py with_servers python -m tests.tools.reports.scaling --millions 10

All run on this machine, so wall times say little if it has two processors: what counts
is the time of tasks that each executor had.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

from tests.tools.reports.apart import command, perform
from tests.tools.reports.cluster import HOST, PROJECT, cluster

REPORTS = ("causes", "redelivery", "throughput", "time-to-dead-letter")


def main() -> None:
    perform(ArgumentParser(description=__doc__), watch, compute)


def watch(database: str, var: str, _: Namespace) -> None:
    """Have one worker compute, then two; print what each executor did."""
    from dashboards.pipeline import bronze  # noqa: PLC0415  needs the set-up

    bronze.export(lambda _: None)
    for workers in (1, 2):
        with cluster(Path(var) / f"cluster{workers}", workers) as master:
            began = time.monotonic()
            told = by(master, database, var)
        print(f"{workers} workers, {time.monotonic() - began:.0f} s:")
        print("\n".join(told), flush=True)


def by(master: str, database: str, var: str) -> list[str]:
    """What the executors of a cluster did for a driver of its own."""
    said = subprocess.run(
        command("tests.tools.reports.scaling", database, var),
        env={**os.environ, "SPARK_MASTER": master, "SPARK_LOCAL_IP": HOST},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=PROJECT,
    ).stdout
    found = json.loads(said.splitlines()[-1])
    every = [sum(one) for one in zip(*found.values(), strict=True)]
    return [
        f"  executor {name}: {tasks} tasks, {tasks / every[0]:.0%};"
        f" {seconds:.0f} s, {seconds / every[1]:.0%}"
        for name, (tasks, seconds) in sorted(found.items())
    ]


def compute(var: Path) -> None:
    """Make silver and some reports; print tasks and their seconds by executor."""
    from dashboards.models import ArchiveFile, PublishedDay  # noqa: PLC0415
    from dashboards.pipeline import gold, manifest, silver_days  # noqa: PLC0415
    from dashboards.reports import discover  # noqa: PLC0415
    from dashboards.spark import session  # noqa: PLC0415

    PublishedDay.objects.all().delete()
    made = ArchiveFile.objects.exclude(table__in=(manifest.BRONZE, manifest.MESSAGES))
    made.delete()
    as_of = datetime.now(UTC)
    spark = session.spark(var)
    silver_days.bring_up_to_date(spark, os.getpid(), as_of, lambda *_: nullcontext())
    for slug in REPORTS:
        report = discover()[slug]
        if report.is_by_day:
            gold.bring_up_to_date(
                spark, os.getpid(), report, as_of, lambda *_: nullcontext()
            )
        else:
            gold.answer(spark, report, {"days": 400}, as_of)
    store = spark.sparkContext._jsc.sc().statusStore()
    every = store.executorList(False)  # noqa: FBT003  Java's own
    told = {
        one.id(): (one.totalTasks(), one.totalDuration() / 1000)
        for one in (every.apply(n) for n in range(every.size()))
        if one.id() != "driver"
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
