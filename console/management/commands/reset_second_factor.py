"""Resets the second factor of a user who lost it."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from broker.checks import BROKER
from broker.security.users import named
from console import second_factors


class Command(BaseCommand):
    help = "Remove all second factors of a user, and end their sessions."
    requires_system_checks = [BROKER]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the user name")

    def handle(self, *, name: str, **_: object) -> None:
        user = named(name).first()
        if user is None:
            raise CommandError(f"There is no user {name}. Correct the name.")
        self.stdout.write(second_factors.reset(user))
