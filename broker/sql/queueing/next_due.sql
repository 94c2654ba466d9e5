-- Find the time until the next delayed entry of any queue is due.
--
-- Locks    none.
-- Index    broker_delayed_queue
-- Returns  the interval, by the database's clock: negative if it is past, null if there
--          is no delayed entry.
WITH RECURSIVE waiting AS (
    (SELECT queue_id, due_at FROM broker_delayed ORDER BY queue_id, due_at LIMIT 1)
    UNION ALL
    SELECT next.queue_id, next.due_at FROM waiting, LATERAL (
        SELECT queue_id, due_at FROM broker_delayed AS further
        WHERE further.queue_id > waiting.queue_id ORDER BY queue_id, due_at LIMIT 1
    ) AS next
)
SELECT min(due_at) - clock_timestamp() FROM waiting;
