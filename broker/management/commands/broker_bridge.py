"""Run the links of bridges."""

from __future__ import annotations

import signal

from django.core.management.base import BaseCommand, CommandError

from broker.bridges import secrets
from broker.bridges.process import BridgeRunner
from broker.checks import BROKER, refuse_unsafe_server
from broker.errors import UnsafeServer
from broker.errors.bridges import SecretsLost


class Command(BaseCommand):
    help = (
        "Carry messages over the links of bridges, until Ctrl-C. Run as many of these"
        " as you like: each link is run by one of them."
    )
    requires_system_checks = [BROKER]

    def handle(self, **_: object) -> None:
        try:
            refuse_unsafe_server()
        except UnsafeServer as error:
            raise CommandError(str(error)) from error
        try:
            secrets.check_all()
        except SecretsLost as error:
            self.stderr.write(str(error))  # links with readable secrets still run
        bridge = BridgeRunner()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: bridge.stop())
        bridge.run()
