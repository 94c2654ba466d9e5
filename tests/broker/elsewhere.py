"""Other connections, threads and processes: what only concurrency shows."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import ParamSpec, TypeVar

import pytest
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from broker.amqp.clients.registry_rows import living
from broker.models import Owner
from tests.broker.forked import FORKS, start
from tests.console.until import until

P = ParamSpec("P")
Result = TypeVar("Result")


class Elsewhere:
    """A second connection of this thread, so that steps interleave as they are written.

    What is called through it is called as in another process.
    """

    def __init__(self) -> None:
        self.connection = connection.copy()
        self.transaction: transaction.Atomic | None = None

    def __call__(
        self, call: Callable[P, Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        with self.instead():
            return call(*args, **kwargs)

    @contextmanager
    def instead(self) -> Iterator[None]:
        here = connections["default"]
        connections["default"] = self.connection
        try:
            yield
        finally:
            connections["default"] = here

    def begin(self) -> None:
        self.transaction = transaction.atomic()
        with self.instead():
            self.transaction.__enter__()

    def commit(self) -> None:
        assert self.transaction is not None
        with self.instead():
            self.transaction.__exit__(None, None, None)
        self.transaction = None

    def roll_back(self) -> None:
        with self.instead():
            transaction.set_rollback(True)
        self.commit()

    def close(self) -> None:
        if self.transaction is not None:
            self.roll_back()
        self.connection.close()


def in_transaction_elsewhere(monkeypatch: pytest.MonkeyPatch) -> BaseDatabaseWrapper:
    """A connection to another database, named ``other``, that is in a transaction."""
    other = connections.create_connection("default")
    other.alias = "other"
    other.in_atomic_block = True
    monkeypatch.setitem(connections.settings, "other", {})
    monkeypatch.setattr(
        vars(connections)["_connections"], "other", other, raising=False
    )
    return other


class Background:
    """A call in a thread of its own, with its own connection."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.call = call
        self.error: BaseException | None = None
        self.thread = Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        try:
            self.call()
        except BaseException as error:  # noqa: BLE001  # join raises it again
            self.error = error
        finally:
            connection.close()

    def join(self, seconds: float = 60) -> None:
        """Wait for its end, and raise what it raised."""
        self.thread.join(seconds)
        assert not self.thread.is_alive(), f"not done within {seconds} s"
        if self.error is not None:
            raise self.error


class Process:
    """Another Python with this project and this database.

    It is forked of one that has loaded the project, which takes seconds.
    """

    def __init__(self, script: str) -> None:
        stdin, told = FORKS.Pipe(duplex=False)
        heard, stdout = FORKS.Pipe(duplex=False)
        name = connection.settings_dict["NAME"]
        with stdin, told, heard, stdout:
            self.forked = start(script, name, stdin, stdout)
            self.stdin = os.fdopen(os.dup(told.fileno()), "w")
            self.stdout = os.fdopen(os.dup(heard.fileno()))
        self.pid: int = self.forked.pid

    def send_signal(self, which: signal.Signals) -> None:
        os.kill(self.pid, which)

    def kill(self) -> None:
        self.forked.kill()

    def wait(self) -> int:
        """Its exit code; of a signal, negative."""
        self.forked.join()
        return int(self.forked.exitcode)

    def end(self) -> None:
        self.kill()
        self.wait()
        self.stdout.close()
        with suppress(BrokenPipeError):
            self.stdin.close()


@contextmanager
def process(script: str) -> Iterator[Process]:
    """It is killed at the end."""
    other = Process(script)
    try:
        yield other
    finally:
        other.end()


def kill(other: Process) -> None:
    """Kill a process, and wait until PostgreSQL has noticed.

    Its locks are gone then, and what it had asked for is done or undone: a statement
    under way goes on without who asked for it, and be it a commit.
    """
    owners = list(Owner.objects.filter(pid=other.pid).values_list("pk", flat=True))
    other.kill()
    assert other.wait() == -signal.SIGKILL
    until(lambda: not living(owners) and not is_served(other))


def is_served(other: Process) -> bool:
    """Whether the server has a process for another that ``process`` has begun."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname ="
            " current_database() AND application_name ~ ('^' || %s || '( |$)'))",
            [f"process {other.pid}"],
        )
        return bool(cursor.fetchone()[0])


def said(other: Process) -> str:
    """The next line that a process says; it is waited for."""
    return other.stdout.readline().strip()


def tell(other: Process, line: str = "") -> None:
    other.stdin.write(line + "\n")
    other.stdin.flush()
