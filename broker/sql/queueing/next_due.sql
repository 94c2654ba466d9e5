-- Find how long it is until the next delayed entry falls due, on any queue.
--
-- Locks    none.
-- Index    broker_delayed_queue
-- Returns  the time, by the clock that decides: negative where it is past, null where
--          nothing waits.
WITH RECURSIVE waiting AS (
    (SELECT queue_id, due_at FROM broker_delayed ORDER BY queue_id, due_at LIMIT 1)
    UNION ALL
    SELECT next.queue_id, next.due_at FROM waiting, LATERAL (
        SELECT queue_id, due_at FROM broker_delayed AS further
        WHERE further.queue_id > waiting.queue_id ORDER BY queue_id, due_at LIMIT 1
    ) AS next
)
SELECT min(due_at) - clock_timestamp() FROM waiting;
