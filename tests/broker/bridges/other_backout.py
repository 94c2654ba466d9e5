"""Another Backout: its web process, on a database of its own.

The database is another one of the server of the tests, made as theirs is. Whatever a
test does there, it does over HTTP like everybody, or in ``instead``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, connections
from psycopg.sql import SQL, Identifier
from pytest_django import DjangoDbBlocker

from broker.bridges.providers.interface import Factory
from broker.queueing import processes
from broker.security import credentials
from broker.security.authorities import Authority
from console.runtime import launcher, socket_paths
from tests.conftest import empty_the_broker
from tests.console.ports import HOST, kept_port
from tests.console.until import until
from tests.make import make_authority

STARTS_WITHIN_S = 180
GRANTED: Sequence[Authority] = ("inquire", "browse", "get", "put", "passall")
WEB = (
    *("-m", "uvicorn", "console.asgi:application", "--ws", "websockets-sansio"),
    *("--timeout-graceful-shutdown", "3", "--no-access-log", "--log-level", "warning"),
)


class OtherBackout:
    """One that is there from ``start`` to ``stop``.

    Args:
        var: a directory for what it writes.
        port: for its web process.
        name: of its database, which is made if it is missing.
    """

    def __init__(self, var: Path, port: int, name: str) -> None:
        self.var = var
        self.port = port
        self.connection = connection.copy()
        self.connection.settings_dict = connection.settings_dict | {"NAME": name}
        self.name = name
        self.secret = ""  # of a credential that may get and put everything
        self.web: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/"

    def factory(self, **fields: Any) -> Factory:
        """How a link reaches it."""
        usual = {"url": self.url, "password": self.secret}
        return Factory("other", "backout", **usual | fields)

    def make(self) -> None:
        """Make its database, a copy of that of the tests; or where somebody has that
        open, migrate one."""
        connections.close_all()
        processes.resign()
        test = connection.settings_dict["NAME"]
        drop = SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        copy = SQL("CREATE DATABASE {} TEMPLATE {}")
        with psycopg.connect(**parameters("postgres"), autocommit=True) as line:
            line.execute(drop.format(Identifier(self.name)))
            try:
                line.execute(copy.format(Identifier(self.name), Identifier(test)))
            except psycopg.errors.ObjectInUse:
                line.execute(SQL("CREATE DATABASE {}").format(Identifier(self.name)))
                self.manage("migrate", "--verbosity=0")

    def manage(self, *arguments: str) -> None:
        """A command of its own."""
        subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=settings.BASE_DIR,
            env=self.environment(),
            check=True,
        )

    def environment(self) -> dict[str, str]:
        address = os.environ.get("DATABASE_URL") or socket_paths.database_url(
            settings.VAR_DIR
        )
        database = urlsplit(address)._replace(path=f"/{self.name}").geturl()
        return launcher.environment_of_children(None) | {
            "BACKOUT_VAR": str(self.var),
            "DATABASE_URL": database,
            "LOG_LEVEL": "WARNING",
            "REDIS_URL": settings.REDIS_URL,
            "SECRET_KEY": settings.SECRET_KEY,
        }

    def start(self) -> None:
        """Start its web process, and wait until it answers."""
        (self.var / "static").mkdir(exist_ok=True)
        self.web = subprocess.Popen(
            [sys.executable, *WEB, "--host", HOST, "--port", str(self.port)],
            cwd=settings.BASE_DIR,
            env=self.environment(),
        )
        until(self.answers, seconds=STARTS_WITHIN_S)

    def answers(self) -> bool:
        assert self.web is not None
        assert self.web.poll() is None, "it has ended by itself"
        return launcher.answers(HOST, self.port)

    def kill(self) -> None:
        """Kill its web process, as a machine does that loses its power."""
        self.end(signal.SIGKILL)

    def start_again(self) -> None:
        """After it was killed, by whomever."""
        self.kill()
        self.start()

    def stop(self) -> None:
        """Stop it for good, and drop its database."""
        self.end(signal.SIGTERM)
        self.connection.close()
        drop = SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        with psycopg.connect(**parameters("postgres"), autocommit=True) as line:
            line.execute(drop.format(Identifier(self.name)))

    def end(self, how: signal.Signals) -> None:
        if self.web is not None:
            self.web.send_signal(how)
            self.web.wait()
            self.web = None

    @contextmanager
    def instead(self) -> Iterator[None]:
        """Its database in the place of one's own, for this thread: to make queues, to
        put, to browse. Not to get: what a process remembers of a queue, it remembers by
        its name.

        Not within a transaction on one's own.
        """
        here = connections["default"]
        connections["default"] = self.connection
        try:
            yield
        finally:
            connections["default"] = here

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """What a statement finds there."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def empty(self) -> None:
        """Take away all that tests have made there."""
        with self.instead():
            empty_the_broker()

    def credential(
        self, name: str, pattern: str = "#", granted: Sequence[Authority] = GRANTED
    ) -> str:
        """Somebody who may do so on what the pattern matches; their secret."""
        with self.instead():
            user = User.objects.create_user(name)
            make_authority(user, *granted, pattern=pattern)
            _, secret = credentials.create(name, user)
        return secret


def parameters(database: str) -> dict[str, Any]:
    """How the server of the tests is reached."""
    found = connection.get_connection_params()
    named = ("host", "port", "user", "password")
    return {one: found[one] for one in named if one in found} | {"dbname": database}


@pytest.fixture(scope="session")
def the_other(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[OtherBackout]:
    """It is started once. Tests ask for ``other``."""
    with django_db_blocker.unblock(), kept_port() as port:
        name = f"{connection.settings_dict['NAME']}_other"
        other = OtherBackout(tmp_path_factory.mktemp("other"), port, name)
        other.make()
        try:
            other.start()
            yield other
        finally:
            other.stop()


@pytest.fixture
def other(the_other: OtherBackout, transactional_db: None) -> Iterator[OtherBackout]:
    """The same, empty, with a credential for a link; running again after the test."""
    the_other.empty()
    the_other.secret = the_other.credential("bridge")
    yield the_other
    if the_other.web is None:
        the_other.start()
