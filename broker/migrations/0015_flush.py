"""A flush empties the hot tables, and leaves the audit, which Django does not know of."""

from pathlib import Path

from django.db import migrations

FLUSH = (Path(__file__).parent / "sql" / "0015_flush.sql").read_text()
DROP = """
    DROP TRIGGER entries_go_with_queues ON broker_queue;
    DROP FUNCTION broker_flush;
"""


class Migration(migrations.Migration):
    dependencies = [("broker", "0014_recurring_messages_have_a_type")]

    operations = [
        migrations.RunSQL(FLUSH, DROP),
        migrations.AlterModelOptions(
            name="auditrecord",
            options={"default_permissions": ("view",), "managed": False, "ordering": ["-id"]},
        ),
    ]
