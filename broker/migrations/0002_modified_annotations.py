"""Outcomes of AMQP may add annotations to a message on its queue."""

from django.db import migrations, models

TABLE = """
CREATE TABLE broker_annotations (
    message_id bigint NOT NULL,
    queue_id integer NOT NULL,
    annotations jsonb NOT NULL,
    PRIMARY KEY (message_id, queue_id)
)
"""


class Migration(migrations.Migration):
    dependencies = [("broker", "0001_initial")]

    operations = [
        migrations.RunSQL(
            TABLE,
            "DROP TABLE broker_annotations",
            state_operations=[
                migrations.CreateModel(
                    name="Annotations",
                    fields=[
                        ("pk", models.CompositePrimaryKey("message_id", "queue_id", blank=True, editable=False, primary_key=True, serialize=False)),
                        ("message_id", models.BigIntegerField()),
                        ("queue_id", models.IntegerField()),
                        ("annotations", models.JSONField()),
                    ],
                    options={"db_table": "broker_annotations", "managed": False},
                ),
            ],
        ),
    ]
