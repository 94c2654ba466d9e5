-- Find entries that are neither in exactly one place nor have exactly one outcome.
--
-- A restore from the discard bin (kind 11) or a reinstatement by an undo (kind 15) cancels
-- an outcome. An entry whose put is no longer in the journal may lack its put, and a
-- cancelled outcome; but it has at most one place or outcome.
--
-- Order    by queue and message.
-- Locks    none.
-- Index    none: it reads everything.
-- Returns  queue, message, the entry's number of puts, of places and of outcomes.
WITH known AS (SELECT min(ids[1]) AS first FROM broker_event WHERE kind = 1),
marks AS (
    SELECT queue_id, id, 0 AS puts, 1 AS places, 0 AS ends, 0 AS undone
    FROM broker_ready
    UNION ALL
    SELECT queue_id, id, 0, 1, 0, 0 FROM broker_delayed
    UNION ALL
    SELECT queue_id, unnest(ids), 0, 1, 0, 0 FROM broker_claim
    UNION ALL
    SELECT queue_id, unnest(ids), (came_from IS NULL AND kind NOT IN (11, 15))::integer, 0,
        (went_to IS NULL)::integer, (came_from IS NULL AND kind IN (11, 15))::integer
    FROM broker_event WHERE came_from IS NULL OR went_to IS NULL
),
entry AS (
    SELECT queue_id, id, sum(puts)::integer AS puts, sum(places)::integer AS places,
        sum(ends - undone)::integer AS ends,
        sum(puts) = 0 AND sum(undone) > 0 AS has_lost_an_end
    FROM marks GROUP BY queue_id, id
)
SELECT queue_id, id, puts, places, ends FROM entry
WHERE places + ends <> 1 AND NOT (has_lost_an_end AND places + ends = 0)
    OR puts <> 1
       AND NOT (puts = 0 AND id < coalesce((SELECT first FROM known), id + 1))
ORDER BY queue_id, id
LIMIT %(limit)s::bigint;
