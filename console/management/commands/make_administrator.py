"""Makes an administrator, or sets a new password, when none can sign in."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import BaseCommand

from broker.checks import BROKER
from console.runtime import first_run


class Command(BaseCommand):
    help = "Make an administrator, or give one a new password; it is shown once."
    requires_system_checks = [BROKER]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", default="admin")

    def handle(self, *, name: str, **_: object) -> None:
        password = first_run.make_administrator(name)
        self.stdout.write(
            f"{name} is an administrator, with the password {password} -- shown only"
            " this once. Change it after signing in."
        )
