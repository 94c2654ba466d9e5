-- Find the newest entry of each segment of the lanes, of queues between two ids, by a loose
-- index scan. A lane is the ready entries of one queue and one priority; its segments are its
-- new entries (pos >= 0), and those that returned (pos < 0).
--
-- It reads each segment from its end: entries taken lately leave dead rows at the beginning.
--
-- Order    the newest entry first.
-- Locks    none: it only reads.
-- Index    broker_ready_pkey
-- Returns  the message number of the entry, negative; queue, priority, and position minus
--          message number.
WITH RECURSIVE part AS (
    (SELECT queue_id, priority, pos FROM broker_ready
    WHERE queue_id <= %(highest)s::integer
    ORDER BY queue_id DESC, priority DESC, pos DESC LIMIT 1)
    UNION ALL
    SELECT next.* FROM part, LATERAL (
        SELECT queue_id, priority, pos FROM broker_ready
        WHERE (queue_id, priority, pos) < (part.queue_id, part.priority,
                CASE WHEN part.pos < 0 THEN -4611686018427387904 ELSE 0 END)
          AND queue_id >= %(lowest)s::integer
        ORDER BY queue_id DESC, priority DESC, pos DESC LIMIT 1
    ) AS next
)
SELECT moved - pos, queue_id, priority, moved
FROM part CROSS JOIN LATERAL (
    SELECT CASE WHEN pos < 0 THEN -4611686018427387904 ELSE 0 END AS moved) AS segment
ORDER BY 1;
