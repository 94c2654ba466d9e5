-- Find from which message on all came at a time or later, by halving.
--
-- A message comes when it is put, and a dead letter when it dies: one that was moved as
-- IBM MQ does it keeps the time of its put. In that order ids rise, but for what was
-- put in the same statement or by clocks that differ.
--
-- Locks    none: looking changes nothing.
-- Index    broker_message_pkey, broker_dead_letter_pkey
-- Returns  its id; one beyond the last where there is none.
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
