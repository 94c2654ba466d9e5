"""The schedule of reports, written after ``manage.py migrate``."""

from __future__ import annotations

from typing import Any

from django.apps import apps as applications
from django.apps.registry import Apps

from broker.management.migrate import schedule


def prepare(*, using: str, apps: Apps = applications, **_: Any) -> None:
    """Create a missing schedule; ``post_migrate`` receiver of the dashboards."""
    schedule(
        "dashboards: reports at night",
        "dashboards.tasks.ask_for_reports",
        apps=apps,
        using=using,
        minute="10",
        hour="1",
        timezone="UTC",
    )
