"""Two PostgreSQL servers, of which one follows the other."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import psycopg

from tests.broker.crashing import kill_with_children
from tests.tools.rolling_upgrade.installation import until

HOST, USER = "127.0.0.1", "postgres"
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "wal_level": "replica",
    "max_connections": "200",
    "autovacuum_naptime": "10s",
    "jit": "off",
}


class Node:
    """One server, on a port of its own.

    Args:
        programs: the folder of PostgreSQL's programs.
        data: where it keeps its data.
    """

    def __init__(self, programs: Path, data: Path, port: int) -> None:
        self.programs, self.data, self.port = programs, data, port

    def run(self, program: str, *arguments: str | Path) -> None:
        """Run a program, not as root."""
        subprocess.run(
            [self.programs / program, *arguments],
            check=True,
            cwd=self.data.parent,
            stdout=subprocess.DEVNULL,
            user=USER if os.geteuid() == 0 else None,
            group=USER if os.geteuid() == 0 else None,
            extra_groups=[] if os.geteuid() == 0 else None,
        )

    def make(self) -> None:
        self.run("initdb", "-D", self.data, "-U", USER, "--auth=trust", "-k")

    def follow(self, primary: Node) -> None:
        """Make it a replica."""
        source = f"host={HOST} port={primary.port} user={USER}"
        self.run("pg_basebackup", "-D", self.data, "-d", source, "-R", "-c", "fast")

    def start(self) -> None:
        options = SETTINGS | {"port": str(self.port)}
        words = " ".join(f"-c {name}='{value}'" for name, value in options.items())
        log = self.data.with_suffix(".log")
        self.run("pg_ctl", "start", "-w", "-D", self.data, "-o", words, "-l", log)

    def ask(self, statement: str) -> list[tuple[object, ...]]:
        where = {"host": HOST, "port": self.port, "user": USER, "dbname": USER}
        with psycopg.connect(**where, autocommit=True) as line:  # type: ignore[arg-type]
            done = line.execute(statement)
            return done.fetchall() if done.description else []

    def kill(self) -> None:
        """All its processes at once, as when a machine loses its power."""
        pid = int((self.data / "postmaster.pid").read_text().split()[0])
        kill_with_children(pid)

    def promote(self) -> None:
        self.run("pg_ctl", "promote", "-w", "-D", self.data)

    def stop(self) -> None:
        self.run("pg_ctl", "stop", "-m", "immediate", "-D", self.data)


def pair(programs: Path, folder: Path, ports: list[int], *, waits: bool) -> list[Node]:
    """A primary and its replica; ``waits``: each commit waits for the replica."""
    shutil.chown(folder, USER, USER)
    names = ("primary", "replica")
    primary, replica = (
        Node(programs, folder / name, port)
        for name, port in zip(names, ports, strict=True)
    )
    primary.make()
    primary.start()
    primary.ask("CREATE DATABASE backout")
    replica.follow(primary)
    replica.start()
    until(lambda: primary.ask("SELECT 1 FROM pg_stat_replication") != [])
    if waits:
        primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.ask("SELECT pg_reload_conf()")
        synchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
        until(lambda: primary.ask(synchronous) != [])
    return [primary, replica]


def promoted(primary: Node, replica: Node) -> float:
    """Kill one and promote the other; returns the seconds that this took."""
    began = time.monotonic()
    primary.kill()
    replica.promote()
    return time.monotonic() - began
