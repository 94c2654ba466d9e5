-- Count tasks that are ready, delayed or in flight, by their name and queue.
--
-- A message is a task if it has the property of this name. Dead letters are not counted. A
-- queue carries tasks if one of its first entries is one; of such a queue the first
-- entries are read, up to a limit.
--
-- Locks    none: it only reads.
-- Index    broker_ready_pkey, broker_delayed_queue, broker_message_pkey,
--          broker_dead_letter_pkey
-- Returns  the fields of broker.monitoring.tasks.TasksHere.
WITH carrying AS MATERIALIZED (
    SELECT wanted.id FROM (SELECT unnest(%(queue_ids)b::integer[]) AS id) AS wanted
    WHERE EXISTS (
        SELECT FROM (
            (SELECT id FROM broker_ready
                WHERE queue_id = wanted.id LIMIT %(probe)s::bigint)
            UNION ALL
            (SELECT id FROM broker_delayed
                WHERE queue_id = wanted.id LIMIT %(probe)s::bigint)
        ) AS entry, LATERAL (
            SELECT properties FROM broker_message WHERE id = entry.id OFFSET 0
        ) AS message
        WHERE message.properties ? 'task')
),
cut AS MATERIALIZED (
    SELECT id FROM carrying
    WHERE EXISTS (SELECT FROM broker_ready
            WHERE queue_id = carrying.id OFFSET %(limit)s::bigint)
        OR EXISTS (SELECT FROM broker_delayed
            WHERE queue_id = carrying.id OFFSET %(limit)s::bigint)
),
entry AS (
    SELECT carrying.id AS queue_id, first.id, first.place
    FROM carrying, LATERAL (
        (SELECT id, 1 AS place FROM broker_ready
            WHERE queue_id = carrying.id LIMIT %(limit)s::bigint)
        UNION ALL
        (SELECT id, 3 FROM broker_delayed
            WHERE queue_id = carrying.id LIMIT %(limit)s::bigint)
    ) AS first
    UNION ALL
    (SELECT queue_id, unnest(ids), 2 FROM broker_claim
        WHERE queue_id = ANY (%(queue_ids)b::integer[]) LIMIT %(limit)s::bigint)
)
SELECT left(message.properties ->> 'task', 200), entry.queue_id,
    count(*) FILTER (WHERE entry.place = 1), count(*) FILTER (WHERE entry.place = 3),
    count(*) FILTER (WHERE entry.place = 2),
    min(message.put_at) FILTER (WHERE entry.place = 1),
    entry.queue_id IN (SELECT id FROM cut)
FROM entry, LATERAL (
    SELECT properties, put_at FROM broker_message WHERE id = entry.id OFFSET 0
) AS message
WHERE message.properties ? 'task' AND NOT EXISTS (
    SELECT FROM broker_dead_letter AS dead
    WHERE dead.message_id = entry.id AND dead.queue_id = entry.queue_id)
GROUP BY 1, 2;
