"""Samples of what queues and links did, for charts."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("broker", "0008_alerts")]

    operations = [
        migrations.CreateModel(
            name="HistorySample",
            fields=[
                ("pk", models.CompositePrimaryKey("period_s", "at", blank=True, editable=False, primary_key=True, serialize=False)),
                ("period_s", models.SmallIntegerField()),
                ("at", models.DateTimeField()),
                ("span_s", models.IntegerField()),
                ("counts", models.BinaryField()),
            ],
            options={"default_permissions": ()},
        ),
        migrations.CreateModel(
            name="HistoryTotals",
            fields=[
                ("id", models.SmallIntegerField(db_default=1, default=1, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("counts", models.BinaryField()),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="totals_are_one_row"),
                ],
            },
        ),
        # It is compressed already.
        migrations.RunSQL(
            "ALTER TABLE broker_historysample ALTER COLUMN counts SET STORAGE EXTERNAL",
            migrations.RunSQL.noop,
        ),
    ]
