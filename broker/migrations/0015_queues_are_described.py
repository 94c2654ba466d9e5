"""What a queue is for, and whom to ask. Before the deploy."""

from __future__ import annotations

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("broker", "0014_values_are_masked")]

    operations = [
        migrations.AddField(
            model_name="queue",
            name="description",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="What it is for, in a sentence or two.",
                max_length=1000,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="contact",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Whom to ask when something is wrong: a team, a person, a"
                " channel.",
                max_length=200,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="runbook",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Where it is written what to do then: a link.",
                max_length=500,
                validators=[
                    django.core.validators.URLValidator(schemes=["http", "https"])
                ],
            ),
        ),
    ]
