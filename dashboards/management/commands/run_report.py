"""Runs a report in this process and prints its rows."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from broker.checks import BROKER
from broker.formats import moments
from dashboards.models import ReportRun
from dashboards.pages import cells, results
from dashboards.pages.results import PERIODS, ResultsQuery
from dashboards.pipeline import runs
from dashboards.reports import Report, discover
from dashboards.reports.errors import ReportError


class Command(BaseCommand):
    help = (
        "Run a report in this process, without the reports worker, and print its rows."
        " Stop it at any time with Ctrl-C and run it again: what was copied stays,"
        " nothing else is changed."
    )
    requires_system_checks = [BROKER]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("report", choices=sorted(discover()))
        parser.add_argument(
            "--parameter",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="a parameter of the report; repeatable",
        )
        parser.add_argument(
            "--days",
            type=int,
            choices=PERIODS,
            default=1,
            help="days to print, for a report by day (default: today)",
        )
        parser.add_argument(
            "--by",
            choices=("hour", "minute"),
            default="hour",
            help="rows to print of a report of minutes (default: hour)",
        )
        parser.add_argument(
            "--json", action="store_true", help="print each row as a line of JSON"
        )

    def handle(self, *, report: str, parameter: list[str], **options: Any) -> None:
        from dashboards.pipeline.run import perform  # noqa: PLC0415  loads Spark

        about = discover()[report]
        try:
            run = runs.ask_for(report, parameters=dict(map(split, parameter)))
        except ValueError as error:
            raise CommandError(str(error)) from error
        if run.state == ReportRun.State.RUNNING:
            raise CommandError(
                f"Another process is running this report, since {run.started_at}."
                " Wait for it; its progress is on the report's page."
            )
        try:
            perform(run.pk)
        except ReportError as error:
            raise CommandError(str(error)) from error
        run.refresh_from_db()
        assert run.as_of is not None
        self.print_rows(about, run, options)
        self.stderr.write(
            self.style.SUCCESS(
                f"Everything until {moments.in_utc(run.as_of)} is counted;"
                f" {run.rows} rows are new or counted again."
            )
        )

    def print_rows(self, about: Report, run: ReportRun, options: Any) -> None:
        """Print rows as lines of JSON, or as a table with columns separated by tabs."""
        said = {"days": options["days"], "run": run.pk, "by": options["by"]}
        wanted = ResultsQuery.of(about, said)
        about = wanted.report
        rows = results.in_order(results.found(None, wanted), wanted)
        if not options["json"]:
            self.stdout.write("\t".join(one.title for one in about.columns))
        for row in rows.iterator():
            said = cells.values(about, row)
            if options["json"]:
                told = {c.name: cells.plain(c, said[c.name]) for c in about.columns}
                self.stdout.write(json.dumps(told, ensure_ascii=False))
            else:
                words = (cells.in_words(c, said[c.name]) for c in about.columns)
                self.stdout.write("\t".join(map(visible, words)))


def split(said: str) -> tuple[str, str]:
    name, sign, value = said.partition("=")
    if not sign:
        raise CommandError(f"A parameter must be NAME=VALUE, not: {said}")
    return name, value


def visible(text: str) -> str:
    """Text without line breaks and control characters."""
    return "".join(one if one.isprintable() else "\ufffd" for one in text)
