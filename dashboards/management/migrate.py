"""The schedule of reports and live depths, written after ``manage.py migrate``."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.apps.registry import Apps

from broker.management.migrate import schedule


def prepare(*, using: str, apps: Apps, **rest: Any) -> None:
    """Create missing schedules; ``post_migrate`` receiver of the dashboards."""
    if "plan" not in rest:
        return
    have = partial(schedule, apps=apps, using=using)
    have(
        "dashboards: reports at night",
        "dashboards.tasks.ask_for_reports",
        minute="10",
        hour="1",
        timezone="UTC",
    )
    have("dashboards: publish depths", "dashboards.live.publish_depths", every_s=1)
