"""Return values of tasks; each is kept as long as its message."""

from django.db import migrations, models

TABLE = """
CREATE TABLE broker_returned (
    message_id bigint NOT NULL PRIMARY KEY,
    value jsonb NOT NULL
)
"""


class Migration(migrations.Migration):
    dependencies = [("broker", "0012_queues_are_bound_to_exchanges")]

    operations = [
        migrations.RunSQL(
            TABLE,
            "DROP TABLE broker_returned",
            state_operations=[
                migrations.CreateModel(
                    name="Returned",
                    fields=[
                        ("message_id", models.BigIntegerField(primary_key=True, serialize=False)),
                        ("value", models.JSONField()),
                    ],
                    options={"db_table": "broker_returned", "managed": False},
                ),
            ],
        ),
    ]
