"""Operations have patches, and a beat at which plans are held against theirs. Before
the deploy; until then nobody knows the beat's task, and nothing is planned for it."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

TASK = "broker.tasks.look_at_patches"


def schedule(apps: Any, _: Any) -> None:
    intervals = apps.get_model("django_celery_beat", "IntervalSchedule").objects
    periodic = apps.get_model("django_celery_beat", "PeriodicTask").objects
    every, _created = intervals.get_or_create(every=1, period="seconds")
    periodic.update_or_create(
        name="broker: look at patches",
        defaults={"task": TASK, "interval": every, "expire_seconds": 2},
    )


def unschedule(apps: Any, _: Any) -> None:
    periodic = apps.get_model("django_celery_beat", "PeriodicTask").objects
    periodic.filter(task=TASK).delete()


class Migration(migrations.Migration):
    dependencies = [("broker", "0010_operations_have_a_course")]

    operations = [
        migrations.CreateModel(
            name="OperationPatch",
            fields=[
                (
                    "operation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="patch",
                        serialize=False,
                        to="broker.operation",
                    ),
                ),
                ("document", models.TextField()),
                ("body", models.BinaryField(null=True)),
                ("is_looked", models.BooleanField(default=False)),
                ("looked", models.IntegerField(default=0)),
                ("looked_after", models.BigIntegerField(default=0)),
                ("alike", models.JSONField(default=list)),
            ],
        ),
        migrations.RunPython(schedule, unschedule),
    ]
