-- Find the last entry below a position in segments of lanes.
--
-- Locks    none: it only reads.
-- Index    broker_ready_pkey
-- Returns  the position of the entry, or null, in the order of the segments.
SELECT (
    SELECT pos FROM broker_ready
    WHERE broker_ready.queue_id = part.queue_id
      AND broker_ready.priority = part.priority
      AND pos >= part.low AND pos < part.high
    ORDER BY pos DESC LIMIT 1)
FROM unnest(%(queue_ids)b::integer[], %(priorities)b::smallint[], %(lows)b::bigint[],
    %(highs)b::bigint[]) WITH ORDINALITY AS part (queue_id, priority, low, high, number)
ORDER BY part.number;
