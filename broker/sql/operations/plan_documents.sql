-- Read items of an operation in one status, to evaluate a selector.
--
-- Order    of the items.
-- Locks    none.
-- Index    broker_item_next, broker_ready_pkey, broker_delayed_pkey, broker_message_pkey
-- Returns  the item; whether the selector's path matches it; without a path, its document
--          as in broker.formats.selectors.document. An entry that is gone or has expired
--          has no document.
WITH wanted AS MATERIALIZED (SELECT %(path)s::jsonpath AS path),  -- parsed only once
seen AS MATERIALIZED (
    SELECT id, queue_id, message_id FROM broker_operationitem
    WHERE (operation_id, status, id) > (%(operation_id)s::bigint, %(status)s::text, %(after)s::bigint)
      AND (operation_id, status) <= (%(operation_id)s::bigint, %(status)s::text)
    ORDER BY operation_id, status, id
    LIMIT %(limit)s::bigint
)
SELECT seen.id,
    jsonb_path_match(known.document, (SELECT path FROM wanted), '{}', true) IS TRUE,
    CASE WHEN %(path)s::text IS NULL THEN known.document END
FROM seen LEFT JOIN LATERAL (
    SELECT message.document FROM (
        -- By the whole key: otherwise the planner may read the whole queue for each
        -- entry.
        SELECT ready.*
        FROM unnest(ARRAY[4, 0, 1, 2, 3, 5, 6, 7, 8, 9]::smallint[]) AS lane (priority),
            unnest(ARRAY[
                seen.message_id, seen.message_id - 4611686018427387904]) AS place (pos),
            LATERAL (
                SELECT id, priority, backout_count, expires_at FROM broker_ready
                WHERE queue_id = seen.queue_id AND priority = lane.priority
                  AND pos = place.pos LIMIT 1) AS ready
        UNION ALL
        SELECT delayed.id, priority, backout_count, expires_at
        FROM broker_delayed AS delayed
        WHERE delayed.id = seen.message_id AND delayed.queue_id = seen.queue_id
    ) AS entry,
    LATERAL (
        SELECT properties || jsonb_build_object(
            'JMSMessageID', message_id,
            'JMSCorrelationID', correlation_id,
            'JMSType', subject,
            'JMSXGroupID', group_id,
            'JMSPriority', entry.priority,
            'JMSDeliveryMode',
            CASE WHEN durable THEN 'PERSISTENT' ELSE 'NON_PERSISTENT' END,
            'JMSTimestamp', floor(extract(epoch FROM put_at) * 1000),
            'JMSExpiration', coalesce(floor(extract(epoch FROM entry.expires_at) * 1000), 0),
            'JMSXDeliveryCount', entry.backout_count + 1,
            'JMSRedelivered', entry.backout_count > 0) AS document
        FROM broker_message WHERE id = entry.id LIMIT 1
    ) AS message
    WHERE entry.expires_at IS NULL
       OR entry.expires_at > coalesce(%(now)s::timestamptz, statement_timestamp())
) AS known ON true
ORDER BY seen.id;
