"""How much longer puts and gets take beside a run of all reports.

    manage.py with_servers python -m tests.tools.reports.beside --millions 1

Other users of the machine change its speed from minute to minute. So the run is stopped
every other two seconds, and puts and gets beside it are compared with those between.
"""

from __future__ import annotations

import os
import subprocess
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import psutil

from tests.tools.reports.apart import command, perform
from tests.tools.reports.idle_group import idle_group, put_in

TURN_S = 2.0
REST_S = 0.3  # after a change, in which nothing is measured
GOAL = 1.3  # what the p99 may become
PERCENTS = (50, 95, 99)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=40, help="of running and stopping")
    perform(parser, watch, report)


def watch(database: str, var: str, asked: Namespace) -> None:
    """Let a worker run and stop it, in turn; print how long puts and gets took."""
    from tests.bench.live import Took, client  # noqa: PLC0415

    beside, between = Took(), Took()
    with (
        client(database) as felt,
        idle_group() as group,
        subprocess.Popen(command("tests.tools.reports.beside", database, var)) as work,
    ):
        put_in(group, work.pid)
        worker = psutil.Process(work.pid)
        felt.over(2)  # to warm up
        try:
            for _ in range(asked.turns):
                time.sleep(REST_S)
                beside += felt.over(TURN_S)
                if work.poll() is not None:
                    break
                for_each(worker, psutil.Process.suspend)
                time.sleep(REST_S)
                between += felt.over(TURN_S)
                for_each(worker, psutil.Process.resume)
        finally:  # nobody else ends what is suspended
            if work.poll() is None:
                for_each(worker, psutil.Process.kill)
            elif work.returncode:
                raise SystemExit(f"The worker ended with {work.returncode}.")
    for name in ("put", "get"):
        print(said(name, getattr(beside, name), getattr(between, name)))


def for_each(worker: psutil.Process, call: Callable[[psutil.Process], None]) -> None:
    """Call something for the worker, its Java, and Java's processes of Python."""
    for process in (worker, *worker.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            call(process)


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
    main()
