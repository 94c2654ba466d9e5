"""A PostgreSQL of a test's own, which may crash."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
from django.core.management import call_command
from django.db import connection, connections
from psycopg.conninfo import make_conninfo

from broker.queueing import processes as owner
from broker.queueing.low_watermarks import FLOORS
from console.runtime import postgres, preflight
from tests.console.until import until

NAME = "test_crash"
# What is committed without waiting for the disk gets there in ten seconds, not in 0.2.
SETTINGS = {
    "wal_writer_delay": "10s",
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "listen_addresses": "",
    "shared_buffers": "16MB",
}


class Server:
    """The server, and this process as its client in place of the tests' database."""

    def __init__(self, var: Path) -> None:
        preflight.check_directory(var)
        self.user = postgres.owner(var)
        postgres.prepare(var, self.user, lambda _: None)
        self.data = postgres.data_dir(var)
        options = SETTINGS | {"unix_socket_directories": f"'{self.data}'"}
        self.options = " ".join(f"-c {name}={value}" for name, value in options.items())

    def start(self) -> None:
        self.control("start", "-w", "-o", self.options, "-l", str(self.data / "log"))

    def crash(self) -> None:
        """What is not on disk is lost, and this process with it."""
        self.control("stop", "-m", "immediate")
        self.leave()
        self.start()

    def pid(self) -> int:
        """Of its first process, whose children the others are."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def revive(self) -> None:
        """After all of it was killed; this process goes on as who it was."""
        connection.close()
        pid = self.pid()
        until(lambda: not psutil.pid_exists(pid))
        self.start()

    def restart(self) -> None:
        """An orderly stop of the broker and of its server."""
        self.leave()
        self.control("stop", "-m", "fast")
        self.start()

    def leave(self) -> None:
        """Another process goes on."""
        owner.resign()
        connection.close()
        FLOORS.forget()

    def control(self, *arguments: str) -> None:
        subprocess.run(  # the wheel's own binary
            [postgres.program("pg_ctl"), "-D", self.data, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.data,
            user=self.user.run_as and self.user.user,
            group=self.user.run_as and self.user.group,
            extra_groups=self.user.run_as and [],
        )

    def make_database(self) -> None:
        with psycopg.connect(self.address("postgres"), autocommit=True) as session:
            session.execute(f"CREATE DATABASE {NAME}")

    def address(self, name: str) -> str:
        return make_conninfo(host=str(self.data), user="postgres", dbname=name)

    @property
    def url(self) -> str:
        """Of the database of the broker."""
        return f"postgresql://postgres@/{NAME}?host={self.data}"

    @contextmanager
    def in_use(self) -> Iterator[None]:
        here, there = connections["default"], connection.copy()
        there.settings_dict |= {
            "NAME": NAME,
            "USER": "postgres",
            "PASSWORD": "",
            "HOST": str(self.data),
            "PORT": "",
        }
        owner.resign()
        connections["default"] = there
        connections.settings["default"] = there.settings_dict  # for other threads
        FLOORS.forget()
        try:
            yield
        finally:
            self.leave()
            connections["default"] = here
            connections.settings["default"] = here.settings_dict


@contextmanager
def server(var: Path) -> Iterator[Server]:
    """A running one, whose database is the one of the broker from here on."""
    one = Server(var)
    one.start()
    try:
        one.make_database()
        with one.in_use():
            call_command("migrate", interactive=False, verbosity=0)
            yield one
    finally:
        one.control("stop", "-m", "immediate")


def kill_with_children(pid: int) -> list[psutil.Process]:
    """Kill all processes of a server at once, as when a machine loses power."""
    first = psutil.Process(pid)
    first.suspend()  # so that it starts none while we look
    processes = [first, *first.children(recursive=True)]
    for one in reversed(processes):
        with suppress(psutil.NoSuchProcess):
            one.kill()
    return processes
