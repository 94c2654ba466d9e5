"""A process that has loaded the project, of which other processes are forked."""

from __future__ import annotations

import os
import sys
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import django
from django.apps import apps
from django.conf import settings

if not apps.ready:
    django.setup()

from broker import operations  # noqa: F401  what most of them use
from broker.bridges import process  # noqa: F401
from broker.client import mqget  # noqa: F401

FORKS = get_context("forkserver")
LOADED = ["pytest", __name__]
FORKS.set_forkserver_preload(LOADED)


def start(script: str, database: str, stdin: Connection, stdout: Connection) -> Any:
    """Another process that runs a script in a database."""
    said = {"BACKOUT_SECRET_KEYS": settings.BACKOUT_SECRET_KEYS}
    one = FORKS.Process(target=run, args=(script, database, said, stdin, stdout))
    one.start()
    return one


def run(
    script: str,
    database: str,
    said: dict[str, Any],
    stdin: Connection,
    stdout: Connection,
) -> None:
    """In the process."""
    os.environ["PGAPPNAME"] = f"process {os.getpid()}"
    settings.DATABASES["default"]["NAME"] = database
    for name, value in said.items():
        setattr(settings, name, value)
    os.dup2(stdin.fileno(), 0)
    os.dup2(stdout.fileno(), 1)
    stdin.close()
    stdout.close()
    # Celery replaces what is here: the file that nobody knows any more must not close
    # the descriptor, which ``sys.__stdout__`` has, too.
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    exec(script, {"__name__": "__main__", "os": os, "sys": sys})
