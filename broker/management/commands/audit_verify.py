"""Verify the hash chain of the audit."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from broker.checks import BROKER
from broker.security import audit
from broker.security.audit import Head


class Command(BaseCommand):
    help = (
        "Verify that no audit record was changed, removed, inserted or moved."
        " Prints the head of the chain; keep it where nobody who can write to the"
        " database can, and give it back as --head another time. Exit code 0: all is as"
        " it was; 1: it is not, and the first broken record is named."
    )
    requires_system_checks = [BROKER]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--head",
            help="the head printed by an earlier run: a number, a colon and a hash",
        )

    def handle(self, *, head: str | None, **_: Any) -> None:
        try:
            kept = None if head is None else Head.read(head)
        except ValueError as error:
            raise CommandError(f"{error}.", returncode=2) from None
        found = audit.check(kept)
        if found.fault:
            self.stderr.write(self.style.ERROR(found.fault))
            self.stderr.write(f"Records up to {found.number} are unchanged.")
            raise SystemExit(1)
        self.stdout.write(
            self.style.SUCCESS(
                f"All {found.number:,} records are as they were written."
            )
        )
        self.stdout.write(f"{found.number}:{found.hash}")
