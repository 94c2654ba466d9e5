-- Find the last entry below a position in parts of lanes: where to go on looking.
--
-- Locks    none: looking changes nothing.
-- Index    broker_ready_pkey
-- Returns  its position, or nothing, in the order in which the parts were named.
SELECT (
    SELECT pos FROM broker_ready
    WHERE broker_ready.queue_id = part.queue_id
      AND broker_ready.priority = part.priority
      AND pos >= part.low AND pos < part.high
    ORDER BY pos DESC LIMIT 1)
FROM unnest(%(queue_ids)b::integer[], %(priorities)b::smallint[], %(lows)b::bigint[],
    %(highs)b::bigint[]) WITH ORDINALITY AS part (queue_id, priority, low, high, number)
ORDER BY part.number;
