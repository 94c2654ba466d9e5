"""A PostgreSQL server of its own for the harness, in place of its container.

It has the settings of the harness's ``postgres.conf``. It is made anew for each system,
and stopped as the container is: a fast shutdown, killed after ten seconds.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from console.runtime import postgres
from tests.harness.contract import say

USER = "bench"
PORT = 15555
STARTS_WITHIN_S = 60.0
STOPS_WITHIN_S = 10.0
LOOK_S = 0.1
EXTENSION = "pgstattuple"


@dataclass
class Cluster:
    """One server, and its data."""

    folder: Path
    programs: Path
    settings: Path  # the harness's
    port: int = PORT
    process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        return postgres.data_dir(self.folder)

    def make(self) -> None:
        """A new server without data, if there is none yet."""
        if self.data.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        owner = postgres.owner(self.folder)
        self.data.mkdir(mode=0o700)
        if owner.run_as:
            os.chown(self.data, owner.user, owner.group)
        made = self.started(
            *("initdb", "--pgdata", str(self.data), "--username", USER),
            *("--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"),
        )
        if made.wait():
            raise SystemExit(f"No PostgreSQL could be made in {self.data}.")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(self.settings.read_text())

    def start(self) -> None:
        """Start it, and wait until it answers."""
        if self.process is not None:
            return
        self.make()
        self.process = self.started(
            *("postgres", "-D", str(self.data), f"--port={self.port}"),
            *("--listen_addresses=127.0.0.1", "--unix_socket_directories="),
        )
        until = time.monotonic() + STARTS_WITHIN_S
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"PostgreSQL does not start; see {self.log}.")
            time.sleep(LOOK_S)

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=2).close()
        except psycopg.Error:
            return False
        return True

    def url(self, database: str) -> str:
        return f"postgres://{USER}@localhost:{self.port}/{database}"

    def stop(self) -> None:
        """A fast shutdown; what is not down in ten seconds is killed."""
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            say("PostgreSQL did not stop in time; it is killed.")
            process.send_signal(signal.SIGQUIT)
            process.wait()

    def remove(self) -> None:
        self.stop()
        with suppress(FileNotFoundError):
            shutil.rmtree(self.data)

    @property
    def log(self) -> Path:
        return self.folder / "postgresql.log"

    def started(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        owner = postgres.owner(self.folder)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [self.programs / program, *options],
                cwd=self.data,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=owner.run_as and owner.user,
                group=owner.run_as and owner.group,
                extra_groups=owner.run_as and [],
            )


def has_extension(programs: Path) -> bool:
    """Whether this PostgreSQL has the extension by which the harness measures bloat."""
    shown = subprocess.run(
        [programs / "pg_config", "--sharedir"],
        capture_output=True,
        text=True,
        check=False,
    )
    folder = Path(shown.stdout.strip()) / "extension"
    return (folder / f"{EXTENSION}.control").exists()
