"""Partitions to begin with, and the beats of the housekeeping. After the deploy."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from broker.sql.partitions import make_ahead

EVERY = {  # seconds
    "release_due": 1,
    "back_out_overdue": 1,
    "expire": 1,
    "fold_journal": 1,
    "step_operations": 1,
    "tend_partitions": 60,
}


def make_partitions(*_: Any) -> None:
    make_ahead()


def schedule(apps: Any, _: Any) -> None:
    interval = apps.get_model("django_celery_beat", "IntervalSchedule")
    periodic = apps.get_model("django_celery_beat", "PeriodicTask")
    for name, seconds in EVERY.items():
        every, _created = interval.objects.get_or_create(
            every=seconds, period="seconds"
        )
        periodic.objects.update_or_create(
            name=f"broker: {name.replace('_', ' ')}",
            defaults={
                "task": f"broker.tasks.{name}",
                "interval": every,
                # Worthless once the next one is there.
                "expire_seconds": max(seconds, 2),
            },
        )


def unschedule(apps: Any, _: Any) -> None:
    periodic = apps.get_model("django_celery_beat", "PeriodicTask")
    periodic.objects.filter(task__startswith="broker.tasks.").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("broker", "0002_messages_have_places"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [
        migrations.RunPython(make_partitions, migrations.RunPython.noop),
        migrations.RunPython(schedule, unschedule),
    ]
