"""A process that listens, as an operator starts it, and what it takes of the machine.

Its log goes to a file. Clients log in by a credential, which is quick to check.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from broker.security import credentials
from console.runtime import socket_paths

HOST = "127.0.0.1"
TOLD = re.compile(r"Clients of AMQP 1\.0 connect to amqp://127\.0\.0\.1:(\d+)")
STARTS_WITHIN_S = 180.0  # where much else goes on
ENDS_WITHIN_S = 30.0
TROUBLE = re.compile(r"Traceback|Exception| (ERROR|CRITICAL) |Warning:|never awaited")


@dataclass
class Process:
    """One that listens."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int = 0

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    @property
    def memory_mb(self) -> float:
        return float(psutil.Process(self.pid).memory_info().rss / 2**20)

    @property
    def files(self) -> int:
        return int(psutil.Process(self.pid).num_fds())

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def troubles(self) -> list[str]:
        """Lines of its log that should not be there: anything worse than a warning."""
        return [line for line in self.said().splitlines() if TROUBLE.search(line)]

    def wait(self) -> None:
        """Until it listens.

        Raises:
            AssertionError: with what it said, if it does not.
        """
        until = time.monotonic() + STARTS_WITHIN_S
        while (found := TOLD.search(self.said())) is None:
            assert self.is_alive, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.05)
        self.port = int(found[1])

    def settle_down(self, files: int, within_s: float = 20.0) -> int:
        """Wait until it has no more files open than that; how many it has."""
        until = time.monotonic() + within_s
        while self.files > files and time.monotonic() < until:
            time.sleep(0.05)
        return self.files

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """As an operator ends it."""
        self.process.terminate()
        try:
            self.process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


def launch(log: Path, *options: str, **environment: str) -> Process:
    """Start one on the database of this process; it does not listen yet.

    Args:
        log: to which it writes; what is there already is lost.
        options: of the command; by default, on any port that is free.
        environment: settings that differ from those of this process.
    """
    options = options or ("--port=0",)
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-W", "default", "manage.py", "broker_listen", *options],
            cwd=settings.BASE_DIR,
            env=os.environ | {"DATABASE_URL": database_url()} | environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    return Process(process, log)


@contextmanager
def launched(log: Path, *options: str, **environment: str) -> Iterator[Process]:
    """One that listens; it is ended in order, if it has not ended by then."""
    process = launch(log, *options, **environment)
    try:
        process.wait()
        yield process
    finally:
        if process.is_alive:
            process.end()


def database_url() -> str:
    """Of the database of this process, which may have another name than in settings."""
    usual = os.environ.get("DATABASE_URL") or socket_paths.database_url(
        settings.VAR_DIR
    )
    return urlsplit(usual)._replace(path=connection.settings_dict["NAME"]).geturl()


def login(name: str = "machine") -> tuple[str, str]:
    """A credential that may do everything: its name and its secret."""
    user, _ = User.objects.get_or_create(username="amelia", is_superuser=True)
    _, secret = credentials.create(name, user)
    return name, secret
