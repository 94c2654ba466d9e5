"""Each copy of a message has the id of its first original, and an index finds them.

The index has copies only, so a put does not pay for it. It locks out puts while it is
built: one read of the messages.
"""

from django.db import migrations


ADD = "ALTER TABLE broker_message ADD COLUMN first_id bigint"
FILL = """
    WITH RECURSIVE up AS (
        SELECT id, copied_from AS above, 1 AS steps FROM broker_message
        WHERE copied_from IS NOT NULL
        UNION ALL
        SELECT up.id, message.copied_from, up.steps + 1
        FROM up JOIN broker_message AS message ON message.id = up.above
        WHERE message.copied_from IS NOT NULL AND up.steps < 1000
    )
    UPDATE broker_message AS message SET first_id = first.id
    FROM (SELECT id AS copy, min(above) AS id FROM up GROUP BY id) AS first
    WHERE message.id = first.copy
"""
INDEX = """
    CREATE INDEX broker_message_first_id ON broker_message (first_id)
    WHERE first_id IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [('broker', '0002_modified_annotations')]

    operations = [
        migrations.RunSQL(ADD, "ALTER TABLE broker_message DROP COLUMN first_id"),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(INDEX, "DROP INDEX broker_message_first_id"),
    ]
