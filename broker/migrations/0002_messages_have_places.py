"""The hot tables, by SQL. Before the deploy."""

from __future__ import annotations

from pathlib import Path

from django.db import migrations

ENGINE = Path(__file__).parent / "sql" / "engine.sql"
TABLES = [
    "message",
    "ready",
    "delayed",
    "owner",
    "unit_of_work",
    "claim",
    "dead_letter",
    "event",
    "tally",
]


class Migration(migrations.Migration):
    dependencies = [("broker", "0001_initial")]

    operations = [
        migrations.RunSQL(
            ENGINE.read_text(),
            "".join(f"DROP TABLE broker_{table};" for table in TABLES)
            + "DROP SEQUENCE broker_message_id_seq;"
            "DROP SEQUENCE broker_unit_of_work_id_seq;"
            "DROP SEQUENCE broker_owner_id_seq;"
            "DROP SEQUENCE broker_event_seq;"
            "DELETE FROM broker_watermark;",
        )
    ]
