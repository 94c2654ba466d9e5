"""What a client of the broker feels of a run of all reports beside it.

    manage.py with_servers python -m tests.tools.reports.beside --millions 1

Other users of the machine change its speed from minute to minute. So the run is stopped
every other two seconds, and puts and gets beside it are compared with those between.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import django

TURN_S = 2.0
REST_S = 0.3  # after a change, in which nothing is measured
GOAL = 1.3  # what the p99 may become
PERCENTS = (50, 95, 99)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, default=1, help="of events")
    parser.add_argument("--turns", type=int, default=40, help="of running and stopping")
    parser.add_argument("--database", help="to report on, and nothing else")
    parser.add_argument("--var", type=Path, help="the folder of the archive")
    asked = parser.parse_args()
    django.setup()
    from django.conf import settings  # noqa: PLC0415  needs the set-up

    if asked.database:
        settings.DATABASES["default"]["NAME"] = asked.database
        settings.VAR_DIR = asked.var
        return report(asked.var)
    from tests.bench.archive import stories  # noqa: PLC0415
    from tests.bench.ground import own_database  # noqa: PLC0415

    with own_database() as database, TemporaryDirectory() as var:
        stories.begin()
        stories.write(0, asked.millions)
        return watch(database, var, asked.turns)


def watch(database: str, var: str, turns: int) -> None:
    """Run and stop a worker's work in turn, at most so often; print what a client
    felt."""
    from tests.bench.archive.idle_group import idle_group, put_in  # noqa: PLC0415
    from tests.bench.live import Took, client  # noqa: PLC0415

    beside, between = Took(), Took()
    command = [sys.executable, "-m", "tests.tools.reports.beside"]
    with (
        client(database) as felt,
        idle_group() as group,
        subprocess.Popen(
            [*command, "--database", database, "--var", var], start_new_session=True
        ) as worker,
    ):
        put_in(group, worker.pid)
        felt.over(2)  # to warm up
        while worker.poll() is None and turns:
            turns -= 1
            time.sleep(REST_S)
            beside += felt.over(TURN_S)
            os.killpg(worker.pid, signal.SIGSTOP)
            time.sleep(REST_S)
            between += felt.over(TURN_S)
            os.killpg(worker.pid, signal.SIGCONT)
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
        elif worker.returncode:
            raise SystemExit(f"The worker ended with {worker.returncode}.")
    for name in ("put", "get"):
        print(said(name, getattr(beside, name), getattr(between, name)))


def said(name: str, beside: list[float], between: list[float]) -> str:
    from tests.bench.figures import percentile  # noqa: PLC0415

    parts = []
    for percent in PERCENTS:
        both = percentile(beside, percent), percentile(between, percent)
        parts.append(
            f"p{percent} {both[0]:.2f} / {both[1]:.2f} ms = {both[0] / both[1]:.2f}x"
        )
    goal = f"goal for p99: {GOAL}x; {len(beside):,} and {len(between):,} messages"
    return f"{name}, beside / between: {', '.join(parts)} ({goal})"


def report(var: Path) -> None:
    """What the worker does: the journal, silver, and each report."""
    from dashboards.pipeline import bronze, gold, silver_days  # noqa: PLC0415
    from dashboards.reports import discover  # noqa: PLC0415
    from dashboards.spark import cpu_share, session  # noqa: PLC0415
    from tests.tools.reports.cluster import SAID  # noqa: PLC0415

    cpu_share.give_way()
    as_of = bronze.export(lambda _: None)
    spark, run = session.spark(var), os.getpid()
    silver_days.bring_up_to_date(spark, run, as_of, lambda *_: nullcontext())
    for one in discover().values():
        if one.is_by_day:
            gold.bring_up_to_date(spark, run, one, as_of, lambda *_: nullcontext())
        else:
            names = {parameter.name for parameter in one.parameters}
            chosen = {name: value for name, value in SAID.items() if name in names}
            gold.answer(spark, one, chosen, as_of)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    main()
