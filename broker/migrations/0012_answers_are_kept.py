"""Answers to requests are kept for whoever sends the same again. Before the deploy."""

from __future__ import annotations

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("broker", "0011_operations_repair")]

    operations = [
        migrations.CreateModel(
            name="KeptAnswer",
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
                ("asker", models.CharField(max_length=64)),
                ("key", models.CharField(max_length=255)),
                ("digest", models.BinaryField()),
                ("status", models.SmallIntegerField(null=True)),
                ("content_type", models.TextField(db_default="", default="")),
                ("body", models.BinaryField(null=True)),
                (
                    "asked_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "indexes": [
                    models.Index(models.F("asked_at"), name="answers_to_forget")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("asker"), models.F("key"), name="one_answer_a_key"
                    )
                ],
            },
        ),
    ]
