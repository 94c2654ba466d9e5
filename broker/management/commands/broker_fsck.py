"""Check that no message is lost or duplicated."""

from __future__ import annotations

import json
from dataclasses import asdict

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection, transaction

from broker.checks import BROKER
from broker.monitoring import fsck
from broker.sql.vacuum import HOT


class Command(BaseCommand):
    help = (
        "Check that every message is in exactly one place or has exactly one end, and"
        " that all sums agree. Reads only; may run beside everything. The exit code is"
        " the number of rules that are broken."
    )
    requires_system_checks = [BROKER]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="for programs")

    def handle(self, *, json: bool, **_: object) -> None:
        with transaction.atomic(durable=True):
            with connection.cursor() as cursor:
                cursor.execute(
                    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
                )
                cursor.execute("SET LOCAL statement_timeout = '10min'")
                # A table that is rewritten after the snapshot would be empty in it.
                cursor.execute(f"LOCK TABLE {', '.join(HOT)} IN ACCESS SHARE MODE")
            found, sums = fsck.violations(), fsck.sums()
        if json:
            self.write_json(found, sums)
        else:
            self.write(found, sums)
        if found or sums.balance:
            rules = {one.rule for one in found} | (
                {"balance"} if sums.balance else set()
            )
            raise SystemExit(len(rules))

    def write(self, found: list[fsck.Violation], sums: fsck.Sums) -> None:
        for name, number in asdict(sums).items():
            self.stdout.write(f"{name.replace('_', ' '):>14}  {number:>12,}")
        for one in found:
            self.stdout.write(self.style.ERROR(f"{one.rule}: {one.sentence}"))
        if sums.balance:
            self.stdout.write(self.style.ERROR(f"The sums differ by {sums.balance:,}."))
        if not found and not sums.balance:
            self.stdout.write(
                self.style.SUCCESS("Every message is in one place or has one end.")
            )

    def write_json(self, found: list[fsck.Violation], sums: fsck.Sums) -> None:
        answer = {
            "sums": asdict(sums) | {"balance": sums.balance},
            "violations": [asdict(one) for one in found],
        }
        self.stdout.write(json.dumps(answer, indent=2))
