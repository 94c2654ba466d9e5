-- Store discarded entries in the discard bin.
--
-- Locks    none.
-- Index    none; it only inserts.
-- Returns  the number of stored entries; entries of queues without retention are not
--          stored.
WITH kept AS (
    INSERT INTO broker_discarded (message_id, queue_id, queue, discarded_at, keep_until,
        reason, why, priority, backout_count, delivery_count, expires_at)
    SELECT entry.id, entry.queue_id, coalesce(queue.name, ''), own.at,
        -- A century at most, so that the end is a valid date.
        own.at + least(entry.retention_s, 3153600000) * interval '1 second',
        %(reason)s::integer, %(why)s::text, entry.priority, entry.backout_count,
        entry.delivery_count, entry.expires_at
    FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at) AS own,
        unnest(%(queue_ids)b::integer[], %(ids)b::bigint[], %(priorities)b::smallint[],
            %(backout_counts)b::integer[], %(delivery_counts)b::integer[],
            %(expiries)b::timestamptz[], %(retentions_s)b::bigint[]) AS entry (
            queue_id, id, priority, backout_count, delivery_count, expires_at,
            retention_s)
    LEFT JOIN broker_queue AS queue ON queue.id = entry.queue_id
    WHERE entry.retention_s > 0
    ON CONFLICT (message_id, queue_id) DO NOTHING
    RETURNING message_id
)
SELECT count(*) FROM kept;
