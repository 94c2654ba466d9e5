"""What was measured on, in the words that a reader needs to judge the figures."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

import psutil
import psycopg

from broker.queueing import processes

COMMITS = 200
INSERT = "INSERT INTO bench_heap (body) VALUES ('x')"
SETTINGS = (
    "synchronous_commit",
    "fsync",
    "full_page_writes",
    "shared_buffers",
    "max_wal_size",
)


def describe() -> list[str]:
    with processes.connect() as connection:
        settings = ", ".join(f"{name} {setting(connection, name)}" for name in SETTINGS)
        memory = psutil.virtual_memory().total / 2**30
        load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
        return [
            f"{os.cpu_count()} cores, {processor()}, {memory:.0f} GiB,"
            f" {platform.system()} {platform.release()}; load before {load}",
            f"processors are shared by {sharers()}",
            f"PostgreSQL {setting(connection, 'server_version')}: {settings}",
            f"Python {platform.python_version()}, Django {version('Django')},"
            f" psycopg {version('psycopg')}, procrastinate {version('procrastinate')}",
            f"a commit waits {fsync_ms(connection):.2f} ms for the disk",
        ]


def load() -> str:
    """As it is now, the measurement in it."""
    return "load after " + ", ".join(f"{one:.1f}" for one in os.getloadavg())


def sharers() -> str:
    """Between whom Linux divides the processors before it looks at priorities."""
    try:
        by_session = Path("/proc/sys/kernel/sched_autogroup_enabled").read_text()
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return "processes"
    mine = [one.split(":", 2) for one in groups]
    grouped = any(
        path != "/" for _, kinds, path in mine if not kinds or "cpu" in kinds.split(",")
    )
    if not grouped and by_session.strip() == "1":
        return "sessions"
    return "processes, as in a service or a container"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2] for line in lines if line.startswith("model name"))
    return next(names, platform.machine()).strip()


def setting(connection: psycopg.Connection, name: str) -> str:
    row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    assert row
    return str(row[0])


def fsync_ms(connection: psycopg.Connection) -> float:
    """By how much a commit that waits for the disk is slower than one that does not."""
    took: dict[str, list[float]] = {"on": [], "off": []}
    for _ in range(COMMITS):
        for synchronous, times in took.items():
            connection.execute(f"SET synchronous_commit = {synchronous}")
            began = time.perf_counter()
            connection.execute(INSERT, prepare=True)
            times.append(time.perf_counter() - began)
    return (median(took["on"]) - median(took["off"])) * 1000
