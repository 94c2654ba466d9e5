"""Rows of minutes in PostgreSQL become rows of hours; the files keep the minutes."""

from django.db import migrations

ADD_UP = """
WITH minutes AS (
    DELETE FROM dashboards_reportrow WHERE report = 'throughput' RETURNING day, cells
), hours AS (
    SELECT day, cells ->> 'queue' AS queue,
        date_trunc('hour', (cells ->> 'minute')::timestamptz, 'UTC') AS at,
        sum((cells ->> 'put')::bigint) AS put,
        sum((cells ->> 'got')::bigint) AS got,
        sum((cells ->> 'accepted')::bigint) AS accepted,
        sum((cells ->> 'backed_out')::bigint) AS backed_out,
        sum((cells ->> 'dead_lettered')::bigint) AS dead_lettered
    FROM minutes GROUP BY 1, 2, 3
)
INSERT INTO dashboards_reportrow (report, day, n, cells)
SELECT 'throughput', day, row_number() OVER (PARTITION BY day ORDER BY at, queue),
    jsonb_build_object(
        'day', day, 'queue', queue,
        'minute', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS+00:00'),
        'put', put, 'got', got, 'accepted', accepted, 'backed_out', backed_out,
        'dead_lettered', dead_lettered)
FROM hours
"""


class Migration(migrations.Migration):

    dependencies = [
        ('dashboards', '0003_runs_keep_their_checks'),
    ]

    operations = [migrations.RunSQL(ADD_UP, migrations.RunSQL.noop)]
