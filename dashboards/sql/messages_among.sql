-- The fields of the messages that exist of some ranges of ids. Run through ADBC by
-- dashboards.pipeline.bronze, as events_between.sql is. The ranges are few and ascend; each
-- is read in the order of an index.
SELECT m.*
FROM unnest(current_setting('archive.ids')::int8multirange) AS ids
CROSS JOIN LATERAL (
    SELECT
        id AS message_id,
        priority,
        durable,
        subject,
        content_type,
        producer,
        group_id,
        reply_to,
        octet_length(body)::bigint AS size,
        properties::text AS properties,
        CASE jsonb_typeof(descriptor -> 'report') WHEN 'number'
            THEN (descriptor ->> 'report')::bigint END AS report,
        CASE jsonb_typeof(descriptor -> 'feedback') WHEN 'number'
            THEN (descriptor ->> 'feedback')::bigint END AS feedback
    FROM broker_message
    WHERE id >= lower(ids) AND id < upper(ids)
    ORDER BY id
) AS m
