"""Files are listed by day, results are rows of any report, and runs have parameters.

Before the deploy. What reports found is made again by their next run, out of the
archive, whose windows and files stay.
"""

from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

LIST = """
    INSERT INTO dashboards_archivefile ("table", day, last_day, version, path, rows,
        checksum, lo, hi, "window")
    SELECT 'bronze', (first_at AT TIME ZONE 'UTC')::date,
        (last_at AT TIME ZONE 'UTC')::date, 1, 'bronze/' || path, rows, checksum, lo, hi, n
    FROM dashboards_exportwindow WHERE state = 'done' AND rows > 0
"""


class Migration(migrations.Migration):
    dependencies = [("dashboards", "0003_depths_are_published")]

    operations = [
        migrations.CreateModel(
            name="ArchiveFile",
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
                ("table", models.CharField(max_length=80)),
                ("day", models.DateField()),
                ("last_day", models.DateField()),
                ("version", models.PositiveSmallIntegerField()),
                ("path", models.TextField()),
                ("rows", models.BigIntegerField()),
                ("checksum", models.CharField(max_length=64)),
                ("lo", models.BigIntegerField(null=True)),
                ("hi", models.BigIntegerField(null=True)),
                ("window", models.PositiveIntegerField(null=True)),
                (
                    "made_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                ("replaced_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["day", "lo", "path"],
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="PublishedDay",
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
                ("table", models.CharField(max_length=80)),
                ("day", models.DateField()),
                ("version", models.BigIntegerField()),
                ("source", models.BigIntegerField()),
                ("before", models.BigIntegerField(null=True)),
                ("floor", models.BigIntegerField(null=True)),
                ("code", models.PositiveSmallIntegerField()),
                ("rows", models.BigIntegerField()),
                (
                    "published_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
            ],
            options={
                "ordering": ["table", "day"],
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="ReportRow",
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
                ("day", models.DateField(null=True)),
                ("n", models.PositiveIntegerField()),
                ("cells", models.JSONField()),
            ],
            options={
                "ordering": ["-day", "n"],
                "default_permissions": (),
            },
        ),
        migrations.DeleteModel(
            name="DeadLetterDay",
        ),
        migrations.RunSQL(LIST, migrations.RunSQL.noop),
        migrations.RemoveConstraint(
            model_name="exportwindow",
            name="done_windows_have_a_file",
        ),
        migrations.RemoveConstraint(
            model_name="reportrun",
            name="one_run_of_a_report_at_a_time",
        ),
        migrations.RemoveField(
            model_name="exportwindow",
            name="checksum",
        ),
        migrations.RemoveField(
            model_name="exportwindow",
            name="first_at",
        ),
        migrations.RemoveField(
            model_name="exportwindow",
            name="last_at",
        ),
        migrations.RemoveField(
            model_name="exportwindow",
            name="path",
        ),
        migrations.AddField(
            model_name="reportrun",
            name="cancelled_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="reportrun",
            name="parameters",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
        migrations.AlterField(
            model_name="reportrun",
            name="state",
            field=models.CharField(
                choices=[
                    ("waiting", "Waiting"),
                    ("running", "Running"),
                    ("done", "Done"),
                    ("stopped", "Stopped"),
                    ("cancelled", "Cancelled"),
                ],
                default="waiting",
                max_length=9,
            ),
        ),
        migrations.AddConstraint(
            model_name="exportwindow",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state", "open"), ("rows__isnull", False), _connector="OR"
                ),
                name="done_windows_are_counted",
            ),
        ),
        migrations.AddConstraint(
            model_name="reportrun",
            constraint=models.UniqueConstraint(
                models.F("report"),
                models.F("parameters"),
                condition=models.Q(("state__in", ["waiting", "running"])),
                name="one_run_of_a_report_at_a_time",
            ),
        ),
        migrations.AddIndex(
            model_name="archivefile",
            index=models.Index(
                condition=models.Q(("replaced_at__isnull", True)),
                fields=["table", "day"],
                name="archive_file_current",
            ),
        ),
        migrations.AddConstraint(
            model_name="archivefile",
            constraint=models.UniqueConstraint(
                models.F("path"), name="files_are_listed_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="archivefile",
            constraint=models.CheckConstraint(
                condition=models.Q(("last_day__gte", models.F("day"))),
                name="files_end_after_they_begin",
            ),
        ),
        migrations.AddConstraint(
            model_name="publishedday",
            constraint=models.UniqueConstraint(
                fields=("table", "day"), name="each_day_is_published_once"
            ),
        ),
        migrations.AddField(
            model_name="reportrow",
            name="run",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="results",
                to="dashboards.reportrun",
            ),
        ),
        migrations.AddIndex(
            model_name="reportrow",
            index=models.Index(fields=["report", "-day", "n"], name="report_row_day"),
        ),
        migrations.AddIndex(
            model_name="reportrow",
            index=models.Index(fields=["run", "n"], name="report_row_run"),
        ),
        migrations.AddConstraint(
            model_name="reportrow",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("day__isnull", False), ("run__isnull", False), _connector="XOR"
                ),
                name="rows_are_of_a_day_or_of_a_run",
            ),
        ),
    ]
