-- The fields of the messages that were put in a range of transaction ids and times; only
-- the id and the time of messages that are deleted. Run through ADBC by
-- dashboards.pipeline.bronze, as events_between.sql is. A message that came to several
-- queues is one row. Ids of one window are close together, so few partitions are read.
WITH put AS MATERIALIZED (
    SELECT id, min(e.at) AS at
    FROM broker_event e CROSS JOIN LATERAL unnest(e.ids) AS id
    WHERE
        e.xid >= (SELECT current_setting('archive.lo')::bigint)
        AND e.xid < (SELECT current_setting('archive.hi')::bigint)
        AND e.kind = 1
        AND e.came_from IS NULL
    GROUP BY id
)
SELECT
    put.id AS message_id,
    put.at,
    m.priority,
    m.durable,
    m.subject,
    m.content_type,
    m.producer,
    m.group_id,
    m.reply_to,
    octet_length(m.body)::bigint AS size,
    m.properties::text AS properties,
    CASE jsonb_typeof(m.descriptor -> 'report') WHEN 'number'
        THEN (m.descriptor ->> 'report')::bigint END AS report,
    CASE jsonb_typeof(m.descriptor -> 'feedback') WHEN 'number'
        THEN (m.descriptor ->> 'feedback')::bigint END AS feedback
FROM put LEFT JOIN broker_message m
    ON m.id = put.id
    AND m.id >= (SELECT min(first.id) FROM put AS first)
    AND m.id <= (SELECT max(last.id) FROM put AS last)
WHERE
    put.at >= (SELECT current_setting('archive.begin')::timestamptz)
    AND put.at < (SELECT current_setting('archive.end')::timestamptz)
ORDER BY put.id
