"""Every report is asked for at 01:10 UTC. After the deploy."""

from __future__ import annotations

from typing import Any

from django.db import migrations

TASK = "dashboards.tasks.ask_for_reports"


def schedule(apps: Any, _: Any) -> None:
    crontab = apps.get_model("django_celery_beat", "CrontabSchedule")
    periodic = apps.get_model("django_celery_beat", "PeriodicTask")
    night, _created = crontab.objects.get_or_create(
        minute="10", hour="1", timezone="UTC"
    )
    periodic.objects.update_or_create(
        name="dashboards: reports at night", defaults={"task": TASK, "crontab": night}
    )


def unschedule(apps: Any, _: Any) -> None:
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(
        task=TASK
    ).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("dashboards", "0001_runs_have_results"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(schedule, unschedule)]
