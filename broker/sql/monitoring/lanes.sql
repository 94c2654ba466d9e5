-- Find the lanes with ready entries, of queues between two ids, by a loose index scan.
--
-- It reads each lane from its end: entries taken lately leave dead rows at the beginning.
--
-- Order    queue, then priority, descending.
-- Locks    none: it only reads.
-- Index    broker_ready_pkey
-- Returns  queue, priority, and the last position.
WITH RECURSIVE lane AS (
    (SELECT queue_id, priority, pos FROM broker_ready
    WHERE queue_id <= %(highest)s::integer
    ORDER BY queue_id DESC, priority DESC, pos DESC LIMIT 1)
    UNION ALL
    SELECT next.* FROM lane, LATERAL (
        SELECT queue_id, priority, pos FROM broker_ready
        WHERE (queue_id, priority) < (lane.queue_id, lane.priority)
          AND queue_id >= %(lowest)s::integer
        ORDER BY queue_id DESC, priority DESC, pos DESC LIMIT 1
    ) AS next
)
SELECT queue_id, priority, pos FROM lane ORDER BY queue_id DESC, priority DESC;
