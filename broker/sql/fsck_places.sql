-- Find entries that are not in exactly one place and have not exactly one end.
--
-- An entry whose put is no longer in the journal may have no beginning, but no more than
-- one place or end.
--
-- Order    by queue and message.
-- Locks    none.
-- Index    none: it reads everything.
-- Returns  queue, message, how often it was put, its places, its ends.
WITH known AS (SELECT min(ids[1]) AS first FROM broker_event WHERE kind = 1),
marks AS (
    SELECT queue_id, id, 0 AS puts, 1 AS places, 0 AS ends FROM broker_ready
    UNION ALL
    SELECT queue_id, id, 0, 1, 0 FROM broker_delayed
    UNION ALL
    SELECT queue_id, unnest(ids), 0, 1, 0 FROM broker_claim
    UNION ALL
    SELECT queue_id, unnest(ids), (came_from IS NULL)::integer, 0,
        (went_to IS NULL)::integer
    FROM broker_event WHERE came_from IS NULL OR went_to IS NULL
)
SELECT queue_id, id, sum(puts)::integer, sum(places)::integer, sum(ends)::integer
FROM marks
GROUP BY queue_id, id
HAVING sum(places) + sum(ends) <> 1
    OR sum(puts) <> 1
       AND NOT (sum(puts) = 0 AND id < coalesce((SELECT first FROM known), id + 1))
ORDER BY queue_id, id
LIMIT %(limit)s::bigint;
