"""The archive's manifest, runs of reports, and what they found. Before the deploy."""

from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="DeadLetterDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("day", models.DateField()),
                ("queue", models.TextField()),
                ("cause", models.TextField()),
                ("dead_letters", models.PositiveBigIntegerField()),
                ("last_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["-day", "queue", "cause"],
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("day", "queue", "cause"),
                        name="one_row_a_day_queue_and_cause",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ExportWindow",
            fields=[
                ("n", models.PositiveIntegerField(primary_key=True, serialize=False)),
                ("lo", models.BigIntegerField()),
                ("hi", models.BigIntegerField()),
                ("path", models.TextField()),
                (
                    "opened_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("done", "Done")],
                        default="open",
                        max_length=4,
                    ),
                ),
                ("rows", models.BigIntegerField(null=True)),
                ("checksum", models.CharField(max_length=64, null=True)),
                ("first_at", models.DateTimeField(null=True)),
                ("last_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["n"],
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(models.F("lo"), name="windows_begin_once"),
                    models.UniqueConstraint(
                        models.F("state"),
                        condition=models.Q(("state", "open")),
                        name="one_window_is_open",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("hi__gt", models.F("lo"))),
                        name="windows_hold_something",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state", "open"),
                            models.Q(
                                ("checksum__isnull", False), ("rows__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="done_windows_have_a_file",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReportRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("report", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("stopped", "Stopped"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                (
                    "requested_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("stage", models.TextField(blank=True)),
                ("progress", models.FloatField(default=0)),
                ("error", models.TextField(blank=True)),
                ("as_of", models.DateTimeField(null=True)),
                ("through", models.PositiveIntegerField(null=True)),
                ("rows", models.PositiveIntegerField(null=True)),
                (
                    "requested_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "permissions": [
                    ("view_report", "Can read reports"),
                    ("run_report", "Can run reports"),
                ],
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["report", "-id"], name="report_run_last")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("report"),
                        condition=models.Q(("state__in", ["waiting", "running"])),
                        name="one_run_of_a_report_at_a_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("progress__gte", 0), ("progress__lte", 1)),
                        name="progress_is_a_share",
                    ),
                ],
            },
        ),
    ]
