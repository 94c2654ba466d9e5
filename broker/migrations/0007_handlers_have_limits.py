"""Handlers may have limits over all processes. Before the deploy; old code ignores it."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("broker", "0006_recurring_messages")]

    operations = [
        migrations.AddField(
            model_name="connectionconsumer",
            name="max_running",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="connectionconsumer",
            name="rate",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.CreateModel(
            name="HandlerLimit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("handler", models.TextField()),
                ("next_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("uows", django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None)),
                ("queue", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="broker.queue")),
            ],
            options={
                "constraints": [models.UniqueConstraint(models.F("queue"), models.F("handler"), name="one_limit_a_handler")],
            },
        ),
    ]
