"""Operations have a pace and a trial, and know what became of what they sent; queues say
how often a message may be resubmitted. Before the deploy: it only adds."""

from __future__ import annotations

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("broker", "0009_acts_are_audited")]

    operations = [
        migrations.AddField(
            model_name="operationitem",
            name="fate",
            field=models.SmallIntegerField(
                choices=[
                    (1, "processed"),
                    (2, "dead again"),
                    (3, "expired"),
                    (4, "taken away"),
                    (5, "unknown"),
                ],
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="operationitem",
            name="died_of",
            field=models.TextField(blank=True, db_default=""),
        ),
        migrations.AlterField(
            model_name="operationitem",
            name="status",
            field=models.CharField(
                choices=[
                    ("planned", "Planned"),
                    ("done", "Done"),
                    ("skipped", "Skipped"),
                    ("left_out", "Left Out"),
                ],
                db_default="planned",
                default="planned",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="max_resubmits",
            field=models.PositiveIntegerField(
                db_default=3,
                default=3,
                help_text="How often one message may be resubmitted here: what died again that often is left out of a plan to resubmit. 0 is no limit.",
            ),
        ),
        migrations.CreateModel(
            name="Course",
            fields=[
                (
                    "operation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="course",
                        serialize=False,
                        to="broker.operation",
                    ),
                ),
                ("pace", models.PositiveIntegerField(null=True)),
                ("free_at", models.DateTimeField(null=True)),
                ("paused_at", models.DateTimeField(null=True)),
                ("stepped_at", models.DateTimeField(null=True)),
                (
                    "stage",
                    models.CharField(
                        choices=[
                            ("trial", "Trial"),
                            ("watch", "Watch"),
                            ("halted", "Halted"),
                            ("rest", "Rest"),
                        ],
                        db_default="rest",
                        default="rest",
                        max_length=8,
                    ),
                ),
                ("canaries", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "chosen",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, size=None
                    ),
                ),
                (
                    "causes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), null=True, size=None
                    ),
                ),
                ("part", models.PositiveIntegerField(db_default=0, default=0)),
                ("to_send", models.PositiveIntegerField(db_default=0, default=0)),
                ("tried", models.PositiveIntegerField(db_default=0, default=0)),
                ("ramped_to", models.BigIntegerField(db_default=0, default=0)),
                ("watched_since", models.DateTimeField(null=True)),
                ("forgiven_to", models.BigIntegerField(db_default=0, default=0)),
                ("halt", models.JSONField(null=True)),
                ("rest_at", models.DateTimeField(null=True)),
                ("swept_to", models.BigIntegerField(db_default=0, default=0)),
                ("look_at", models.DateTimeField(null=True)),
                ("idle_s", models.PositiveIntegerField(db_default=0, default=0)),
                ("settled_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Experience",
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
                ("fingerprint", models.TextField()),
                ("processed", models.BigIntegerField(default=0)),
                ("died", models.BigIntegerField(default=0)),
                ("since", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
            ],
        ),
        migrations.AddConstraint(
            model_name="experience",
            constraint=models.UniqueConstraint(
                models.F("fingerprint"), name="one_experience_a_fingerprint"
            ),
        ),
    ]
