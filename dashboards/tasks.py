"""Reports, at night and when somebody asks."""

from __future__ import annotations

from celery import shared_task

from dashboards.live import publish_depths  # noqa: F401  found with the others
from dashboards.reports import discover, runs


@shared_task(ignore_result=True)
def run_report(run_id: int) -> None:
    """Run what was asked for, in the reports worker, which is one process.

    Safe twice, at once, late: a run is taken once.
    """
    from dashboards.reports import pipeline  # noqa: PLC0415  Spark is for this worker

    pipeline.perform(run_id)


@shared_task(ignore_result=True)
def ask_for_reports() -> None:
    """Ask for a run of every report. Each night at 01:10 UTC."""
    for slug in discover():
        runs.send(runs.ask_for(slug))
