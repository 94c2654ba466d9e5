-- Find the age of the oldest message at the head of each queue: the first entry that was put
-- back or the first new entry of a lane (queue and priority), whichever is older. A loose
-- index scan finds the lanes, and each is read where a get begins, so no queue is scanned.
--
-- Locks    none: it only reads.
-- Index    broker_ready_pkey, broker_message_pkey
-- Returns  queue, seconds since the put of that message; for queues with ready entries.
WITH RECURSIVE lane AS (
    (SELECT queue_id, priority FROM broker_ready
    ORDER BY queue_id DESC, priority DESC, pos DESC LIMIT 1)
    UNION ALL
    SELECT next.* FROM lane, LATERAL (
        SELECT queue_id, priority FROM broker_ready
        WHERE (queue_id, priority) < (lane.queue_id, lane.priority)
        ORDER BY queue_id DESC, priority DESC, pos DESC LIMIT 1
    ) AS next
),
head AS (
    SELECT lane.queue_id, min(first.id) AS id
    FROM lane, LATERAL (
        (SELECT id FROM broker_ready AS back WHERE back.queue_id = lane.queue_id
            AND back.priority = lane.priority AND back.pos < 0 ORDER BY back.pos LIMIT 1)
        UNION ALL
        (SELECT id FROM broker_ready AS new WHERE new.queue_id = lane.queue_id
            AND new.priority = lane.priority AND new.pos >= 0 ORDER BY new.pos LIMIT 1)
    ) AS first
    GROUP BY lane.queue_id
)
SELECT
    head.queue_id,
    greatest(extract(epoch FROM
        coalesce(%(now)s::timestamptz, statement_timestamp()) - message.put_at), 0)::float8
FROM head CROSS JOIN LATERAL (
    -- OFFSET 0: look up each message by its id, whatever the planner estimates.
    SELECT put_at FROM broker_message WHERE id = head.id OFFSET 0
) AS message;
