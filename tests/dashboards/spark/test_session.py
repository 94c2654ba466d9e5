"""Java is found or brought along; Spark is for the reports worker alone."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.conf import settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WEB = """
import django, sys
django.setup()
from celery import current_app
from dashboards import tasks
from dashboards.pages import views
assert {"dead-letters", "rule-backtest", "what-if"} <= set(views.discover())
print([name for name in ("pyspark", "pyarrow") if name in sys.modules])
print(current_app.main)
"""


def make_java(folder: Path, version: str) -> Path:
    """A home whose ``java`` says that it is of a version."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        f"echo '    java.home = {folder}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
    )
    java.chmod(0o755)
    return folder


def test_pages_go_without_spark_and_reach_the_workers() -> None:
    told = subprocess.run(
        [sys.executable, "-c", WEB],
        capture_output=True,
        text=True,
        check=True,
        cwd=settings.BASE_DIR,
    )
    assert told.stdout.splitlines() == ["[]", "console"]


@pytest.mark.long
@pytest.mark.spark
def test_the_java_of_the_operator_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dashboards.spark import session  # noqa: PLC0415  loads Spark

    named = make_java(tmp_path / "named", "21")
    on_path = make_java(tmp_path / "on path", "17")
    old = make_java(tmp_path / "old", "1.8")
    monkeypatch.setenv("PATH", f"{on_path / 'bin'}:{os.environ['PATH']}")

    monkeypatch.setenv("JAVA_HOME", str(named))
    assert session.java_home(tmp_path) == named
    for useless in (old, tmp_path / "nowhere"):
        monkeypatch.setenv("JAVA_HOME", str(useless))
        assert session.java_home(tmp_path) == on_path
    monkeypatch.delenv("JAVA_HOME")
    assert session.java_home(tmp_path) == on_path


@pytest.mark.long
@pytest.mark.spark
def test_without_a_new_java_the_bundled_one_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dashboards.spark import session  # noqa: PLC0415  loads Spark

    old = make_java(tmp_path / "old", "11")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _: str(old / "bin" / "java"))

    home = session.java_home(tmp_path / "var with spaces")
    told = subprocess.run(
        [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert home == tmp_path / "var with spaces" / "java"
    assert "25." in told.stderr


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_java_that_died_is_followed_by_another(spark_files: Path) -> None:
    from pyspark import SparkContext  # noqa: PLC0415  loads Spark

    from dashboards.spark import session  # noqa: PLC0415

    gateway = SparkContext._gateway
    assert gateway
    gateway.proc.kill()
    gateway.proc.wait()

    assert session.spark(spark_files).range(3).count() == 3


def test_of_sessions_that_are_long_over_nothing_is_kept(tmp_path: Path) -> None:
    from dashboards.spark import session  # noqa: PLC0415  loads Spark

    history = session.history(tmp_path)
    for n in range(session.SESSIONS + 2):
        one = history / f"eventlog_v2_local-{n}"
        one.mkdir(parents=True)
        (one / "events").write_text("{}")
        os.utime(one, (n, n))
    (history / "local-0").write_text("{}")  # as older versions of Spark wrote it
    os.utime(history / "local-0", (0, 0))

    session.drop_old_history(tmp_path)

    kept = {one.name for one in history.iterdir()}
    assert kept == {f"eventlog_v2_local-{n + 2}" for n in range(session.SESSIONS)}


@pytest.mark.spark
def test_only_what_is_small_is_sent_whole_to_each_task(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Four megabytes of a file are many more in Java's memory."""
    for name, rows in (("many", 1_000_000), ("few", 1_000)):
        spark.range(rows).write.parquet(str(tmp_path / name))
    many, few = (spark.read.parquet(str(tmp_path / name)) for name in ("many", "few"))

    def plan(joined: DataFrame) -> str:
        said = StringIO()
        with redirect_stdout(said):
            joined.explain()
        return said.getvalue()

    assert "SortMergeJoin" in plan(many.join(many.withColumn("n", many["id"]), "id"))
    assert "BroadcastHashJoin" in plan(many.join(few, "id"))


IDLES = """
import sys, threading, time
from pathlib import Path
from pyspark import SparkContext
from dashboards.spark import idle, session
idle.END_AFTER_S = 0.5
for _ in range(2):
    with idle.IDLE.in_use():
        assert session.spark(Path(sys.argv[1])).range(3).count() == 3
        java = SparkContext._gateway.proc
    with idle.IDLE.in_use():
        time.sleep(1)  # longer than the first timer
        assert java.poll() is None
        assert session.spark(Path(sys.argv[1])).range(4).count() == 4
    print(java.wait(60))
"""


@pytest.mark.long
@pytest.mark.spark
def test_spark_ends_when_no_run_needs_it_and_starts_again(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", IDLES, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=settings.BASE_DIR,
    )
    assert told.stdout.splitlines() == ["0", "0"]


COMPILES = """
import sys
from pathlib import Path
from pyspark import SparkContext
from dashboards.spark import session
for events in (10, None, session.FEW_EVENTS + 1, 10):
    running = session.spark(Path(sys.argv[1]), events=events)
    print(session.is_for_few(running), SparkContext._gateway.proc.pid)
session.end()
"""


@pytest.mark.long
@pytest.mark.spark
def test_java_for_few_events_is_followed_by_another_for_many(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", COMPILES, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=settings.BASE_DIR,
    )
    few, kept, many, last = (line.split() for line in told.stdout.splitlines())
    assert few == kept == ["True", few[1]]
    assert many == last == ["False", many[1]]
    assert many[1] != few[1]
