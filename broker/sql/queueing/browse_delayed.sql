-- List the delayed entries of one queue, the earliest due first.
--
-- Order    due time, then id; after a cursor.
-- Locks    none: it only reads.
-- Index    broker_delayed_queue, broker_message_pkey
-- Returns  the fields of broker.queueing.browse.Browsed.
SELECT found.id, 3, found.priority, found.id, found.backout_count, found.due_at,
    found.expires_at, NULL::bigint, message.put_at, message.content_type,
    message.subject, message.producer, octet_length(message.body),
    substring(message.body for 160),
    message.descriptor, substring(message.headers for 4096)
FROM (
    SELECT * FROM broker_delayed
    WHERE queue_id = %(queue_id)s::integer
      AND (due_at, id) > (%(due_at)s::timestamptz, %(id)s::bigint)
    ORDER BY due_at, id LIMIT %(limit)s::bigint
) AS found
CROSS JOIN LATERAL (
    -- One index lookup for each entry, whatever the planner estimates.
    SELECT * FROM broker_message WHERE id = found.id OFFSET 0
) AS message
ORDER BY found.due_at, found.id;
