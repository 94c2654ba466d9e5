-- Count the next ready entries of a queue that fit into a number of bytes: entries before
-- which the limit is not reached, so at least one if there is any.
--
-- Order    highest priority first; within a priority, by position.
-- Locks    none: it only reads; a later get may take other entries.
-- Index    broker_ready_pkey
-- Returns  the number of these entries, up to the first entry whose message is outside the
--          partitions that a get opens: its size is unknown.
SELECT count(*)::integer
FROM (
    SELECT place, coalesce(sum(size) OVER (ORDER BY place) - size, 0) AS before,
        bool_and(size IS NOT NULL) OVER (ORDER BY place) AS is_known
    FROM (
        SELECT row_number() OVER (ORDER BY found.priority DESC, found.pos) AS place,
            octet_length(message.body)::bigint AS size
        FROM (
            SELECT ready.priority, ready.pos, ready.id
            FROM unnest(%(priorities)b::smallint[], %(lows)b::bigint[], %(highs)b::bigint[])
                AS lane (priority, low, high),
            LATERAL (
                SELECT * FROM broker_ready AS ready
                WHERE ready.queue_id = (
                    SELECT id FROM broker_queue WHERE name = %(queue)s::text)
                  AND ready.priority = lane.priority
                  AND ready.pos >= lane.low AND ready.pos < lane.high
                ORDER BY ready.pos LIMIT %(limit)s::bigint
            ) AS ready
            LIMIT %(limit)s::bigint
        ) AS found
        LEFT JOIN LATERAL (
            -- One index lookup for each entry, whatever the planner estimates.
            SELECT body FROM broker_message WHERE id = found.id
              AND id >= %(near_from)s::bigint AND id <= %(near_to)s::bigint OFFSET 0
        ) AS message ON true
    ) AS sized
) AS summed
WHERE before < %(most_bytes)s::bigint AND (is_known OR place = 1);
