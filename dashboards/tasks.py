"""Numbers for open pages, every second; reports, at night and when somebody asks."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import celeryd_init

from dashboards.live import publisher
from dashboards.pipeline import runs
from dashboards.reports import discover
from dashboards.spark import cpu_share

QUEUE = "reports"


@celeryd_init.connect
def leave_room(options: dict[str, Any], **_: Any) -> None:
    """A worker that is there for reports alone does not slow the broker down."""
    if list(options.get("queues") or ()) == [QUEUE]:
        cpu_share.give_way()


@shared_task(
    name="dashboards.live.publish_depths",  # as schedules have it
    ignore_result=True,
    soft_time_limit=5,
    time_limit=10,
    expires=2,
)
def publish_depths() -> None:
    """Send what changed since the last time. Every second."""
    publisher.publish()


@shared_task(ignore_result=True)
def run_report(run_id: int) -> None:
    """Run what was asked for, in the reports worker, which is one process.

    Safe twice, at once, late: a run is taken once.
    """
    from dashboards.pipeline.run import perform  # noqa: PLC0415  Spark is for this worker

    perform(run_id)


@shared_task(ignore_result=True)
def ask_for_reports(slug: str = "", parameters: dict[str, Any] | None = None) -> None:
    """Ask for a run of a report; of every nightly one, where none is named.

    When, is set under Settings. Without other word, each night at 01:10 UTC.
    """
    nightly = [one.slug for one in discover().values() if one.nightly]
    for one in [slug] if slug else nightly:
        runs.send(runs.ask_for(one, parameters=parameters if slug else None))
