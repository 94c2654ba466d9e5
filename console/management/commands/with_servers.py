"""Starts PostgreSQL and Redis for the duration of one command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from argparse import REMAINDER, ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console.runtime import preflight, servers, supervisor
from console.runtime.preflight import CannotStart
from console.runtime.supervisor import Terminal


class Command(BaseCommand):
    help = (
        "Run a command with DATABASE_URL and REDIS_URL set: to servers that live as"
        " long as it does, below BACKOUT_VAR, unless the environment names others."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "command", nargs=REMAINDER, help="the command and its arguments"
        )

    def handle(self, *, command: list[str], **_: object) -> None:
        if not command:
            raise CommandError("Name the command to run, as: with_servers pytest")
        var = settings.VAR_DIR
        try:
            preflight.check_directory(var)
            with (
                preflight.only_one(var),
                supervisor.stopped_by_signals(),
                servers.servers(var, Terminal(sys.stderr)) as addresses,
            ):
                code = run(command, addresses)
        except CannotStart as refusal:
            self.stderr.write(str(refusal))
            sys.exit(1)
        except KeyboardInterrupt:  # Ctrl-C came before the command had begun
            code = 128 + signal.SIGINT
        sys.exit(code)


def run(command: list[str], addresses: dict[str, str]) -> int:
    """Run the command as a shell would: Ctrl-C reaches the command, and this process
    waits for its end.
    """
    here = Path(sys.executable).parent
    path = f"{here}:{os.environ.get('PATH', os.defpath)}"
    environment = os.environ | addresses | {"PATH": path}
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        process = subprocess.Popen(command, env=environment)  # noqa: S603 -- as asked
    except OSError as error:
        raise CannotStart(f"{command[0]} cannot be run: {error.strerror}.") from None
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    code = process.wait()
    return code if code >= 0 else 128 - code
