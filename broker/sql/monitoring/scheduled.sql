-- List delayed entries of several queues, the earliest due first.
--
-- Order    due time, then message, then queue; after a cursor.
-- Locks    none: it only reads.
-- Index    broker_delayed_queue, broker_message_pkey
-- Returns  the fields of broker.monitoring.delayed.Scheduled.
SELECT found.queue_id, found.id, found.due_at, found.priority, found.backout_count,
    found.expires_at, message.put_at, message.content_type, message.subject,
    octet_length(message.body)
FROM (
    SELECT first.* FROM unnest(%(queue_ids)b::integer[]) AS wanted (id), LATERAL (
        SELECT * FROM broker_delayed
        WHERE queue_id = wanted.id
          AND (due_at, id) >= (%(due_at)s::timestamptz, %(id)s::bigint)
          AND (due_at, id, queue_id)
              > (%(due_at)s::timestamptz, %(id)s::bigint, %(queue_id)s::integer)
        ORDER BY due_at, id LIMIT %(limit)s::bigint
    ) AS first
    ORDER BY due_at, id, queue_id LIMIT %(limit)s::bigint
) AS found
CROSS JOIN LATERAL (
    -- One index lookup for each entry, whatever the planner estimates.
    SELECT * FROM broker_message WHERE id = found.id OFFSET 0
) AS message
ORDER BY found.due_at, found.id, found.queue_id;
