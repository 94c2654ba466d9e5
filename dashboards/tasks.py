"""Celery tasks: publish live numbers every second, and run reports."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import celeryd_init

from broker.tasks import sent_when
from dashboards.live import publisher
from dashboards.pipeline import runs
from dashboards.reports import nightly
from dashboards.spark import cpu_share

QUEUE = "reports"


@celeryd_init.connect
def leave_room(options: dict[str, Any], **_: Any) -> None:
    """Limit a worker that only runs reports, so that it does not slow the broker."""
    if list(options.get("queues") or ()) == [QUEUE]:
        cpu_share.give_way()


@sent_when(publisher.is_due)
@shared_task(
    name="dashboards.live.publish_depths",
    ignore_result=True,
    soft_time_limit=5,
    time_limit=10,
)
def publish_depths() -> None:
    """Send the numbers that changed since the last call. Sent every second while a
    page is open."""
    publisher.publish()


@shared_task(ignore_result=True)
def run_report(run_id: int) -> None:
    """Perform a requested run in the reports worker, which is one process.

    A task may come twice, at the same time, or late: a run is taken once.
    """
    from dashboards.pipeline.run import perform  # noqa: PLC0415  Spark is for this worker

    perform(run_id)


@shared_task(ignore_result=True)
def ask_for_reports(slug: str = "", parameters: dict[str, Any] | None = None) -> None:
    """Request a run of a report; without a slug, of all nightly reports.

    The schedule is set under Settings; the default is each night at 01:10 UTC.
    """
    for one in [slug] if slug else nightly():
        runs.send(runs.ask_for(one, parameters=parameters if slug else None))
