"""Groups of dead letters are looked after, and rules act on them. Before the deploy."""

from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("broker", "0012_answers_are_kept"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="operation",
            name="drops_header",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name="DeadLetterGroup",
            fields=[
                ("fingerprint", models.TextField(primary_key=True, serialize=False)),
                ("note", models.TextField(db_default="", default="")),
                ("ticket", models.TextField(db_default="", default="")),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("snoozed_until", models.DateTimeField(null=True)),
                ("snoozed_above", models.PositiveBigIntegerField(null=True)),
                ("known", models.JSONField(default=list)),
                (
                    "changed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                (
                    "acknowledged_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "snoozed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="RuleAttempt",
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
                ("message_id", models.BigIntegerField()),
                ("queue_id", models.IntegerField()),
                ("copy_id", models.BigIntegerField(null=True)),
                ("attempts", models.JSONField()),
                ("tried_at", models.DateTimeField()),
            ],
            options={
                "default_permissions": (),
                "indexes": [
                    models.Index(
                        condition=models.Q(("copy_id__isnull", False)),
                        fields=["copy_id"],
                        name="broker_attempt_copy",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("message_id"),
                        models.F("queue_id"),
                        name="one_count_a_letter",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RuleTable",
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
                ("text", models.TextField()),
                (
                    "mode",
                    models.TextField(
                        choices=[
                            ("off", "off"),
                            ("observe", "observe"),
                            ("active", "active"),
                        ],
                        db_default="off",
                        default="off",
                    ),
                ),
                ("revision", models.PositiveIntegerField(db_default=1, default=1)),
                (
                    "changed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                ("switched_at", models.DateTimeField(null=True)),
                ("seen_id", models.BigIntegerField(db_default=0, default=0)),
                ("round_began_at", models.DateTimeField(null=True)),
                ("trouble", models.TextField(db_default="", default="")),
                (
                    "acts_for",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "changed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "queue",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rule_table",
                        to="broker.queue",
                    ),
                ),
            ],
            options={
                "default_permissions": ("change",),
            },
        ),
        migrations.CreateModel(
            name="RulePass",
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
                (
                    "mode",
                    models.TextField(
                        choices=[
                            ("off", "off"),
                            ("observe", "observe"),
                            ("active", "active"),
                        ]
                    ),
                ),
                ("revision", models.PositiveIntegerField()),
                ("began_at", models.DateTimeField()),
                ("looked_at", models.PositiveIntegerField()),
                ("deeds", models.JSONField()),
                (
                    "table",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="passes",
                        to="broker.ruletable",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "default_permissions": (),
            },
        ),
    ]
