-- List the ready entries of one queue at given positions.
--
-- Order    highest priority first, then position.
-- Locks    none: it only reads.
-- Index    broker_ready_pkey, broker_message_pkey
-- Returns  the fields of broker.queueing.browse.Browsed; without entries that are no longer
--          there.
SELECT found.id, 1, found.priority, found.pos, found.backout_count, NULL::timestamptz,
    found.expires_at, NULL::bigint, message.put_at, message.content_type,
    message.subject, message.producer, octet_length(message.body),
    substring(message.body for 160),
    message.descriptor, substring(message.headers for 4096)
FROM unnest(%(priorities)b::smallint[], %(lows)b::bigint[]) AS place (priority, pos),
LATERAL (
    SELECT ready.* FROM broker_ready AS ready
    WHERE ready.queue_id = (SELECT id FROM broker_queue WHERE name = %(queue)s::text)
      AND ready.priority = place.priority AND ready.pos = place.pos
    LIMIT 1
) AS found
CROSS JOIN LATERAL (
    -- One index lookup for each entry, whatever the planner estimates.
    SELECT * FROM broker_message WHERE id = found.id OFFSET 0
) AS message
ORDER BY found.priority DESC, found.pos;
