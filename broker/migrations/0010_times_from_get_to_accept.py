"""The journal has the time from get to accept, and sums of it are kept."""

from django.db import migrations, models

COLUMN = "ALTER TABLE broker_event ADD COLUMN held_ms integer"
TABLE = """
CREATE TABLE broker_held (
    queue_id integer NOT NULL,
    bucket smallint NOT NULL,
    entries bigint NOT NULL,
    PRIMARY KEY (queue_id, bucket)
)
"""


class Migration(migrations.Migration):
    dependencies = [("broker", "0009_samples")]

    operations = [
        migrations.RunSQL(COLUMN, "ALTER TABLE broker_event DROP COLUMN held_ms"),
        migrations.RunSQL(
            TABLE,
            "DROP TABLE broker_held",
            state_operations=[
                migrations.CreateModel(
                    name="Held",
                    fields=[
                        ("pk", models.CompositePrimaryKey("queue_id", "bucket", blank=True, editable=False, primary_key=True, serialize=False)),
                        ("queue_id", models.IntegerField()),
                        ("bucket", models.SmallIntegerField()),
                        ("entries", models.BigIntegerField()),
                    ],
                    options={"db_table": "broker_held", "managed": False},
                ),
            ],
        ),
    ]
