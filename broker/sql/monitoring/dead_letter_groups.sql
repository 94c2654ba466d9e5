-- Group the dead letters that are on a queue now, by error, cause and origin.
--
-- One hash join of both tables finds letters on a queue, even before the tables are
-- analyzed: single lookups take seconds or minutes for very many letters. The planner can
-- execute a FULL JOIN only as a hash join; the surplus rows are filtered afterwards.
-- Order    the largest group first.
-- Locks    none: it only reads.
-- Index    none: it reads every dead letter.
-- Returns  the fields of broker.monitoring.dead_letters.DeadLetterCount.
WITH part AS (
    SELECT fingerprint, pattern, cause, origin_queue, queue_id, reason,
        count(*) AS messages, min(died_at) AS first_at, max(died_at) AS last_at,
        max(resubmit_count) AS resubmits, max(message_id) AS newest_id
    FROM (
        SELECT dead.*, lying.queue_id AS lies_on
        FROM broker_dead_letter AS dead FULL JOIN (
            SELECT queue_id, pos + CASE WHEN pos < 0
                THEN 4611686018427387904 ELSE 0 END AS message_id
            FROM broker_ready
            WHERE queue_id = ANY (ARRAY(
                SELECT DISTINCT queue_id FROM broker_dead_letter))
        ) AS lying
            ON lying.message_id = dead.message_id AND lying.queue_id = dead.queue_id
        OFFSET 0
    ) AS joined
    WHERE lies_on IS NOT NULL AND message_id IS NOT NULL
    GROUP BY 1, 2, 3, 4, 5, 6
)
SELECT fingerprint, pattern, cause, origin_queue, queue_id, sum(messages)::bigint,
    min(first_at), max(last_at), max(resubmits), max(newest_id),
    coalesce(array_agg(DISTINCT reason) FILTER (WHERE reason > 0), '{}')
FROM part
GROUP BY 1, 2, 3, 4, 5
ORDER BY 6 DESC, 1, 4, 3, 5;
