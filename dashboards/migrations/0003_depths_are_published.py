"""Open pages are told of new depths every second. After the deploy."""

from __future__ import annotations

from typing import Any

from django.db import migrations

TASK = "dashboards.live.publish_depths"


def schedule(apps: Any, _: Any) -> None:
    interval = apps.get_model("django_celery_beat", "IntervalSchedule")
    periodic = apps.get_model("django_celery_beat", "PeriodicTask")
    second, _created = interval.objects.get_or_create(every=1, period="seconds")
    periodic.objects.update_or_create(
        name="dashboards: publish depths",
        # Worthless once the next one is there.
        defaults={"task": TASK, "interval": second, "expire_seconds": 2},
    )


def unschedule(apps: Any, _: Any) -> None:
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(
        task=TASK
    ).delete()


class Migration(migrations.Migration):
    dependencies = [("dashboards", "0002_reports_run_at_night")]

    operations = [migrations.RunPython(schedule, unschedule)]
