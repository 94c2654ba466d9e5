-- List the ready entries of one queue, in the order of gets.
--
-- Order    highest priority first, then position; from a lane and a position on.
-- Locks    none: it only reads.
-- Index    broker_ready_pkey, broker_message_pkey
-- Returns  the fields of broker.queueing.browse.Browsed.
SELECT found.id, 1, found.priority, found.pos, found.backout_count, NULL::timestamptz,
    found.expires_at, NULL::bigint, message.put_at, message.content_type,
    message.subject, message.producer, octet_length(message.body),
    substring(message.body for 160),
    message.descriptor, substring(message.headers for 4096)
FROM (
    SELECT ready.*
    FROM unnest(%(priorities)b::smallint[], %(lows)b::bigint[]) AS lane (priority, low),
    LATERAL (
        SELECT * FROM broker_ready AS ready
        WHERE ready.queue_id = %(queue_id)s::integer AND ready.priority = lane.priority
          AND ready.pos >= lane.low
        ORDER BY ready.pos LIMIT %(limit)s::bigint
    ) AS ready
    ORDER BY ready.priority DESC, ready.pos
    LIMIT %(limit)s::bigint
) AS found
CROSS JOIN LATERAL (
    -- One index lookup for each entry, whatever the planner estimates.
    SELECT * FROM broker_message WHERE id = found.id OFFSET 0
) AS message
ORDER BY found.priority DESC, found.pos;
