"""A worker of Celery on the database of the tests, for all modules."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from kombu import pools
from pytest_django import DjangoDbBlocker

from broker.queueing import notifications
from tests.amqp.launching import database_url
from tests.celery_peer.app import add, app
from tests.conftest import empty_the_broker

SAY = notifications.Arrivals.say
WITHIN_S = 60  # where much else goes on


def worker(log: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start one; its log goes to a file."""
    command = (sys.executable, "-m", "celery", "-A", "tests.celery_peer.app", "worker")
    with log.open("wb") as file:
        return subprocess.Popen(
            [*command, "-l", "INFO", "-n", f"{log.parent.name}@{log.stem}", *options],
            cwd=settings.BASE_DIR,
            env=os.environ
            | {"DATABASE_URL": database_url(), "REDIS_URL": settings.REDIS_URL},
            stdout=file,
            stderr=subprocess.STDOUT,
        )


@pytest.fixture(autouse=True)
def _other_processes_hear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications.Arrivals, "say", SAY)


@pytest.fixture(scope="package")
def celery_worker(
    _commits_are_quick: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SimpleNamespace]:
    """One with two processes; tests of the package share the database."""
    log = tmp_path_factory.mktemp("celery") / "worker.log"
    app.conf.result_backend = settings.REDIS_URL.replace("unix:", "redis+socket:")
    with django_db_blocker.unblock():
        empty_the_broker()
        process = worker(log, "--concurrency=2", "-E")
        try:
            add.delay(1, 1).get(timeout=WITHIN_S)
            yield SimpleNamespace(process=process, log=log)
        finally:
            process.terminate()
            process.wait(WITHIN_S)
            pools.reset()
            app._after_fork()  # forgets closed pools: there may be another worker
            empty_the_broker()


@pytest.fixture
def transactional_db(
    celery_worker: SimpleNamespace, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Commits are real, and seen by the worker; nothing is emptied between tests."""
    with django_db_blocker.unblock():
        yield
