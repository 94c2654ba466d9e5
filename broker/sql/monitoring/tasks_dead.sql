-- Count dead letters that are tasks and on a queue now, by name, queue and error.
--
-- Locks    none: it only reads.
-- Index    broker_dead_letter_pkey, broker_message_pkey, broker_ready_pkey
-- Returns  the fields of broker.monitoring.tasks.TasksDead.
WITH dead AS MATERIALIZED (
    SELECT message_id, queue_id, fingerprint, pattern FROM broker_dead_letter
    WHERE queue_id = ANY (%(queue_ids)b::integer[])
    ORDER BY message_id DESC LIMIT %(limit)s::bigint
),
tasks AS MATERIALIZED (
    SELECT dead.*, left(message.properties ->> 'task', 200) AS task
    FROM dead, LATERAL (
        SELECT properties FROM broker_message WHERE id = dead.message_id OFFSET 0
    ) AS message
    WHERE message.properties ? 'task'
)
SELECT task, queue_id, fingerprint, min(pattern), count(*)
FROM tasks
WHERE EXISTS (
    SELECT FROM unnest(ARRAY[4, 0, 1, 2, 3, 5, 6, 7, 8, 9]::smallint[]) AS lane (priority),
        unnest(ARRAY[
            tasks.message_id, tasks.message_id - 4611686018427387904]) AS place (pos),
        LATERAL (
            SELECT FROM broker_ready
            WHERE queue_id = tasks.queue_id AND priority = lane.priority
              AND pos = place.pos LIMIT 1) AS ready)
GROUP BY task, queue_id, fingerprint;
