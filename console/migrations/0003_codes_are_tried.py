"""Codes of second factors are tried a few times, and taken once. Before the deploy."""

from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0002_sessions_know_whose_they_are"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CodeTries",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("wrong", models.PositiveSmallIntegerField(db_default=0)),
                ("wrong_at", models.DateTimeField(null=True)),
                ("last_step", models.BigIntegerField(db_default=0)),
            ],
            options={"default_permissions": ()},
        ),
    ]
