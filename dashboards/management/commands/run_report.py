"""Runs a report here and now, in this process."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from dashboards.models import ReportRun
from dashboards.reports import discover, runs
from dashboards.reports.errors import ReportError


class Command(BaseCommand):
    help = (
        "Run a report in this process, without the reports worker. Stop it at any time"
        " with Ctrl-C and run it again: what was copied stays, nothing else is changed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("report", choices=sorted(discover()))

    def handle(self, *, report: str, **_: object) -> None:
        from dashboards.reports import pipeline  # noqa: PLC0415  Spark, for this only

        run = runs.ask_for(report)
        if run.state == ReportRun.State.RUNNING:
            raise CommandError(
                f"Another process is running this report, since {run.started_at}."
                " Wait for it; its progress is on the report's page."
            )
        try:
            pipeline.perform(run.pk)
        except ReportError as error:
            raise CommandError(str(error)) from error
        run.refresh_from_db()
        self.stdout.write(
            self.style.SUCCESS(
                f"Everything until {run.as_of:%Y-%m-%d %H:%M:%S} UTC is counted;"
                f" {run.rows} rows are new or counted again."
            )
        )
