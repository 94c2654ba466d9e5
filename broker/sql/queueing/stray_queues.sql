-- Find entries of queues that do not exist: a put that began before the deletion of a queue
-- may commit after it.
--
-- A loose index scan: it reads one entry for each queue that has entries.
--
-- Order    by queue.
-- Locks    none.
-- Index    broker_ready_pkey, broker_delayed_queue
-- Returns  the ids of these missing queues.
WITH RECURSIVE ready AS (
    (SELECT queue_id FROM broker_ready ORDER BY queue_id LIMIT 1)
    UNION ALL
    SELECT (SELECT queue_id FROM broker_ready
            WHERE queue_id > before.queue_id ORDER BY queue_id LIMIT 1)
    FROM ready AS before WHERE before.queue_id IS NOT NULL
),
delayed AS (
    (SELECT queue_id FROM broker_delayed ORDER BY queue_id LIMIT 1)
    UNION ALL
    SELECT (SELECT queue_id FROM broker_delayed
            WHERE queue_id > before.queue_id ORDER BY queue_id LIMIT 1)
    FROM delayed AS before WHERE before.queue_id IS NOT NULL
),
used AS (SELECT queue_id FROM ready UNION SELECT queue_id FROM delayed)
SELECT queue_id FROM used
WHERE queue_id IS NOT NULL
  AND NOT EXISTS (SELECT FROM broker_queue WHERE id = used.queue_id)
ORDER BY queue_id;
