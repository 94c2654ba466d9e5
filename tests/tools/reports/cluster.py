"""All reports on a cluster of this machine: the same rows as in one process?

    .venv/bin/python manage.py with_servers \
        .venv/bin/python -m tests.tools.reports.cluster

A standalone master and two workers are started from the wheel of pyspark, on loopback,
and end with this program; so is a server of Spark Connect, where its client is
installed. It makes a small history, runs every report that is declared, once in one
process and once there, and compares (exit 1 where they differ).
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import django
import pyspark

from tests.console.until import until

if TYPE_CHECKING:
    from dashboards.models import ReportRow

HOST = "127.0.0.1"
WORKERS = 2
PATIENCE = 180.0  # seconds, on a machine that does much else
PROJECT = Path(__file__).resolve().parents[3]
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
DEPLOY = "org.apache.spark.deploy"
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # twice as quick to start
RULES = "DESTQ('flat') ACTION(RETRY)\nACTION(IGNORE)\n"
SAID = {"days": 400, "rules": RULES}  # where a report has such a parameter

NOTHING: Mapping[str, str] = {}
Server = Callable[[Path], AbstractContextManager[str]]
Answers = dict[str, Any]  # by report, and who gave them


@contextmanager
def cluster(var: Path, workers: int = WORKERS) -> Iterator[str]:
    """A master and its workers; yields its address. All are gone afterwards."""
    port, page = free_ports(2)
    master = f"spark://{HOST}:{port}"
    with ExitStack() as running:
        at = ["--host", HOST, "--port", str(port), "--webui-port", str(page)]
        running.enter_context(started(var, "master", "master.Master", *at))
        until(lambda: state(page), PATIENCE)
        for n in range(1, workers + 1):
            name = f"worker-{n}"
            has = ["--host", HOST, "--cores", "1", "--memory", "1g"]
            has += ["--webui-port", "0", "--work-dir", str(var / name), master]
            running.enter_context(started(var, name, "worker.Worker", *has))
        until(lambda: state(page).get("aliveworkers") == workers, PATIENCE)
        yield master


@contextmanager
def connect_server(var: Path) -> Iterator[str]:
    """A server of Spark Connect, whose driver computes; yields its address."""
    (port,) = free_ports(1)
    said = {
        "spark.connect.grpc.binding.port": port,
        "spark.local.dir": var / "scratch",
        "spark.ui.enabled": "false",
    }
    submit = ["--class", CONNECT, "--master", "local[2]", "--driver-memory", "1g"]
    for name, value in said.items():
        submit += ["--conf", f"{name}={value}"]
    submit.append("spark-internal")
    more = {
        "PYTHONPATH": str(PROJECT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "1g",  # it computes, too
    }
    with started(var, "connect", "SparkSubmit", *submit, more=more):
        until(lambda: answers_at(port), PATIENCE)
        yield f"sc://{HOST}:{port}"


def answers_at(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex((HOST, port)) == 0


@contextmanager
def started(
    var: Path, name: str, of: str, *arguments: str, more: Mapping[str, str] = NOTHING
) -> Iterator[None]:
    """One process of Spark's own, with its log beside it."""
    from dashboards.spark import session  # noqa: PLC0415  needs Django

    var.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {
        "JAVA_HOME": str(session.java_home(var)),
        "JAVA_TOOL_OPTIONS": SHORT_LIVED,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_HOME": str(SPARK_CLASS.parent.parent),
        "SPARK_LOCAL_IP": HOST,
        **more,
    }
    with (var / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [SPARK_CLASS, f"{DEPLOY}.{of}", *arguments],
            env=environment,
            stdout=log,
            stderr=log,
            cwd=var,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]


def state(page: int) -> dict[str, Any]:
    """What a master says of itself; nothing while it does not answer, or not yet so."""
    try:
        with urlopen(f"http://{HOST}:{page}/json/", timeout=5) as said:
            found: dict[str, Any] = json.load(said)
    except (OSError, json.JSONDecodeError):
        return {}
    return found


def answers(var: Path) -> Answers:
    """Run all reports in this process; their rows, in an order."""
    from django.conf import settings  # noqa: PLC0415

    from dashboards.models import ReportRow  # noqa: PLC0415
    from dashboards.pipeline import runs  # noqa: PLC0415
    from dashboards.pipeline.run import perform  # noqa: PLC0415
    from dashboards.reports import discover  # noqa: PLC0415
    from dashboards.spark import session  # noqa: PLC0415

    settings.VAR_DIR = var
    found: Answers = {}
    for slug, about in sorted(discover().items()):
        names = {one.name for one in about.parameters}
        said = {name: value for name, value in SAID.items() if name in names}
        perform(runs.ask_for(slug, parameters=said).pk)
        rows = ReportRow.objects.filter(report=slug)
        found[slug] = sorted(map(told_at_any_time, rows))
    if "SPARK_REMOTE" in os.environ:
        return found | {"by": [os.environ["SPARK_REMOTE"], 0]}
    context = session.spark(var).sparkContext
    processes = context._jsc.sc().getExecutorMemoryStatus().size()
    return found | {"by": [context.master, processes - 1]}


def told_at_any_time(row: ReportRow) -> str:
    """All that a row says, but for when a shift began: the clock goes on."""
    cells = {name: value for name, value in row.cells.items() if name != "since"}
    return json.dumps(cells, sort_keys=True)


def forget() -> None:
    """Let the next run begin with the journal."""
    from dashboards import models  # noqa: PLC0415

    for kept in ("ReportRow", "ReportRun", "ArchiveFile", "PublishedDay"):
        getattr(models, kept).objects.all().delete()
    models.ExportWindow.objects.all().delete()


def answers_of(database: str, var: Path, more: Mapping[str, str]) -> Answers:
    """What another process answers; it has ended then, and its Java."""
    told = subprocess.run(
        [sys.executable, "-m", "tests.tools.reports.cluster", database, str(var)],
        env={**os.environ, "JAVA_TOOL_OPTIONS": SHORT_LIVED, **more},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=PROJECT,
    ).stdout
    found: Answers = json.loads(told.splitlines()[-1])
    return found


def compare(database: str, var: Path) -> bool:
    """Print how long each way takes, and where the rows differ."""
    began = time.monotonic()
    here = answers_of(database, var / "here", {})
    print(f"{here.pop('by')[0]}: {time.monotonic() - began:.0f} s")
    told = [
        is_same(here, database, var / named, named, server) for named, server in ways()
    ]
    return all(told)


def ways() -> Iterator[tuple[str, Server]]:
    """How others may compute, by the variable that says so."""
    yield "SPARK_MASTER", cluster
    if find_spec("grpc") and find_spec("pandas"):
        yield "SPARK_REMOTE", connect_server


def is_same(here: Answers, database: str, var: Path, named: str, by: Server) -> bool:
    forget()
    began = time.monotonic()
    with by(var / "server") as address:
        ready = time.monotonic()
        there = answers_of(database, var, {named: address, "SPARK_LOCAL_IP": HOST})
        ended = time.monotonic()
    who, executors = there.pop("by")
    more = f" on {executors} executors" if executors else ""
    print(
        f"{who}: {ended - ready:.0f} s{more}, after {ready - began:.0f} s to start it"
    )
    for slug, rows in here.items():
        same = "the same" if rows == there[slug] else "NOT THE SAME"
        print(f"  {slug}: {len(rows)} rows, {same}")
    return here == there


def main() -> None:
    parser = ArgumentParser(prog="tests.tools.reports.cluster", description=__doc__)
    parser.add_argument("database", nargs="?", help="to answer from, and nothing else")
    parser.add_argument("var", nargs="?", type=Path, help="where its files go")
    asked = parser.parse_args()
    django.setup()
    from django.conf import settings  # noqa: PLC0415

    if asked.database:
        settings.DATABASES["default"]["NAME"] = asked.database
        print(json.dumps(answers(asked.var)))
        return
    from django.utils import timezone  # noqa: PLC0415

    from tests.bench.ground import own_database  # noqa: PLC0415
    from tests.dashboards import failing, histories, journal  # noqa: PLC0415

    with own_database() as database, TemporaryDirectory() as var:
        failing.make_failures(timezone.now() - failing.ENDED)  # now: of this shift
        journal.until_final(histories.last_xid())
        is_same = compare(database, Path(var))
    sys.exit(not is_same)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    main()
