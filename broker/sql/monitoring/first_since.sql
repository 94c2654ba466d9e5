-- Find the first message that arrived at a time or later, by binary search.
--
-- A message arrives when it is put, a dead letter when it dies: a dead letter by IBM MQ's
-- rules keeps its put time. Ids ascend in this order, except within one statement or
-- with clocks that differ.
--
-- Locks    none: it only reads.
-- Index    broker_message_pkey, broker_dead_letter_pkey
-- Returns  the id of the message; the last id + 1 if there is none.
WITH RECURSIVE halving AS (
    SELECT (SELECT id FROM broker_message ORDER BY id LIMIT 1) AS low,
        (SELECT id + 1 FROM broker_message ORDER BY id DESC LIMIT 1) AS high
    UNION ALL
    SELECT CASE WHEN middle.came_at < %(at)s::timestamptz THEN middle.id + 1 ELSE low END,
        CASE WHEN middle.came_at < %(at)s::timestamptz THEN high
        ELSE low + (high - low) / 2 END
    FROM halving, LATERAL (
        SELECT message.id, coalesce((
            SELECT died_at FROM broker_dead_letter
            WHERE message_id = message.id ORDER BY queue_id LIMIT 1
        ), message.put_at) AS came_at
        FROM broker_message AS message
        WHERE message.id >= low + (high - low) / 2
        ORDER BY message.id LIMIT 1
    ) AS middle
    WHERE low < high
)
SELECT coalesce(max(low), 1) FROM halving;
