"""Acts leave records that are chained, and that the database neither changes nor takes
away; and some operations take a second person. Before the deploy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

AUDIT = Path(__file__).parent / "sql" / "audit.sql"
KINDS = [
    ("user", "somebody who had signed in"),
    ("credential", "an application, by its credential"),
    ("system", "a user of the operating system, by a command"),
    ("nobody", "somebody who had not signed in"),
]
TASK = "broker.tasks.verify_audit"


def schedule(apps: Any, _: Any) -> None:
    intervals = apps.get_model("django_celery_beat", "IntervalSchedule").objects
    hourly, _created = intervals.get_or_create(every=1, period="hours")
    apps.get_model("django_celery_beat", "PeriodicTask").objects.update_or_create(
        name="broker: verify audit",
        defaults={"task": TASK, "interval": hourly, "expire_seconds": 3600},
    )


def unschedule(apps: Any, _: Any) -> None:
    periodic = apps.get_model("django_celery_beat", "PeriodicTask").objects
    periodic.filter(task=TASK).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("broker", "0008_dead_letters_are_found"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditRecord",
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
                ("number", models.BigIntegerField(null=True)),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                ("actor_kind", models.TextField(choices=KINDS)),
                ("actor_id", models.BigIntegerField(null=True)),
                ("actor", models.TextField()),
                ("source", models.TextField()),
                ("act", models.TextField()),
                ("object_kind", models.TextField()),
                ("object_id", models.TextField()),
                ("object_name", models.TextField()),
                (
                    "outcome",
                    models.TextField(
                        choices=[("done", "Done"), ("refused", "Refused")]
                    ),
                ),
                ("reason", models.TextField()),
                ("detail", models.TextField()),
                ("operation_id", models.BigIntegerField(null=True)),
                ("hash", models.TextField(null=True)),
            ],
            options={
                "db_table": "broker_audit",
                "ordering": ["-id"],
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(fields=["at"], name="broker_audit_at"),
                    models.Index(fields=["actor", "id"], name="broker_audit_actor"),
                    models.Index(fields=["act", "id"], name="broker_audit_act"),
                    models.Index(
                        fields=["object_name", "id"], name="broker_audit_object"
                    ),
                    models.Index(
                        condition=models.Q(("operation_id__isnull", False)),
                        fields=["operation_id", "id"],
                        name="broker_audit_operation",
                    ),
                    models.Index(
                        condition=models.Q(("outcome", "refused")),
                        fields=["at", "actor"],
                        name="broker_audit_refused",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("number"), name="one_record_a_number"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditCheck",
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
                ("number", models.BigIntegerField()),
                ("hash", models.TextField()),
                (
                    "checked_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                ("fault", models.TextField(blank=True, default="")),
            ],
            options={"default_permissions": ()},
        ),
        migrations.RunSQL(
            AUDIT.read_text(),
            """
            DROP TRIGGER audit_is_chained ON broker_audit;
            DROP TRIGGER audit_is_kept ON broker_audit;
            DROP TRIGGER audit_is_not_emptied ON broker_audit;
            DROP FUNCTION broker_audit_chain;
            DROP FUNCTION broker_audit_keep;
            DROP FUNCTION broker_audit_hash;
            """,
        ),
        migrations.RunPython(schedule, unschedule),
        migrations.AlterModelOptions(
            name="operation",
            options={
                "ordering": ["-id"],
                "permissions": [
                    ("approve_operation", "Can approve what somebody else planned")
                ],
            },
        ),
        migrations.AddField(
            model_name="queue",
            name="reason_above",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="An operation on more messages of it is started with a reason only; empty is as for any other queue.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="approval_above",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="An operation on more messages of it is started once a second person approved it; empty is never.",
                null=True,
            ),
        ),
        migrations.CreateModel(
            name="Approval",
            fields=[
                (
                    "operation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="approval",
                        serialize=False,
                        to="broker.operation",
                    ),
                ),
                ("seal", models.TextField()),
                (
                    "asked_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                ("expires_at", models.DateTimeField()),
                ("approved_at", models.DateTimeField(null=True)),
                (
                    "approved_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("approved_at__isnull", True),
                                ("approved_by__isnull", True),
                            ),
                            models.Q(
                                ("approved_at__isnull", False),
                                ("approved_by__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="who_approved_and_when_go_together",
                    )
                ],
            },
        ),
    ]
