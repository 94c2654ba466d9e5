"""What each start of a checkout prepares; ``make run`` does it before all else."""

from __future__ import annotations

from django.core.management.base import BaseCommand

from console.runtime import first_run


class Command(BaseCommand):
    help = (
        "Migrate, collect the static files where they have changed, and make what a new"
        " console needs: the first queues, and an administrator."
    )
    requires_system_checks = []

    def handle(self, **_: object) -> None:
        first_run.migrate(self.stdout.write)
        first_run.tell_lost_passwords(self.stdout.write)
        first_run.make_places()
        first_run.collect_static(self.stdout.write)
        if password := first_run.first_administrator():
            self.stdout.write(
                f"The first administrator is admin, with the password {password} --"
                " shown only this once. Change it after signing in."
            )
