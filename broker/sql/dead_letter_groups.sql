-- Group the dead letters that lie on a queue now, by what there is to mend.
--
-- What lies is found by equality alone, so that it is one hash even while nobody has
-- analyzed the tables: looked up one by one, very many that died at once take minutes.
-- Order    the largest group first.
-- Locks    none: looking changes nothing.
-- Index    none: it reads every dead letter.
-- Returns  the fields of broker.triage.Group.
WITH part AS (
    SELECT dead.fingerprint, dead.pattern, dead.cause, dead.origin_queue,
        dead.queue_id, dead.reason, count(*) AS messages, min(dead.died_at) AS first_at,
        max(dead.died_at) AS last_at, max(dead.resubmit_count) AS resubmits,
        max(dead.message_id) AS newest_id
    FROM broker_dead_letter AS dead
    WHERE (dead.queue_id, dead.message_id) IN (
        SELECT ready.queue_id, ready.pos + CASE WHEN ready.pos < 0
            THEN 4611686018427387904 ELSE 0 END
        FROM broker_ready AS ready
        WHERE ready.queue_id = ANY (ARRAY(
            SELECT DISTINCT queue_id FROM broker_dead_letter)))
      AND dead.fingerprint = coalesce(%(fingerprint)s::text, dead.fingerprint)
    GROUP BY 1, 2, 3, 4, 5, 6
)
SELECT fingerprint, pattern, cause, origin_queue, queue_id, sum(messages)::bigint,
    min(first_at), max(last_at), max(resubmits), max(newest_id),
    coalesce(array_agg(DISTINCT reason) FILTER (WHERE reason > 0), '{}')
FROM part
GROUP BY 1, 2, 3, 4, 5
ORDER BY 6 DESC, 1, 4, 3, 5;
