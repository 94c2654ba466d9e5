-- Group the dead letters of one error that are on a queue now.
--
-- Each letter is looked up by its whole key, on the priorities that its queue uses. So
-- the cost depends only on the size of the group.
-- Order    the largest group first.
-- Locks    none: it only reads.
-- Index    broker_dead_letter_fingerprint, broker_ready_pkey
-- Returns  the fields of broker.monitoring.dead_letters.DeadLetterCount.
WITH alike AS MATERIALIZED (
    SELECT fingerprint, pattern, cause, origin_queue, queue_id, died_at, resubmit_count,
        message_id, reason
    FROM broker_dead_letter WHERE fingerprint = %(fingerprint)s::text
),
lanes AS MATERIALIZED (
    SELECT lies.queue_id, ARRAY(
        SELECT number::smallint FROM generate_series(0, 9) AS number
        WHERE (SELECT true FROM broker_ready
            WHERE queue_id = lies.queue_id AND priority = number::smallint
            ORDER BY pos DESC LIMIT 1)
    ) AS priorities
    FROM (SELECT DISTINCT queue_id FROM alike) AS lies
),
part AS (
    SELECT fingerprint, pattern, cause, origin_queue, queue_id, reason,
        count(*) AS messages, min(died_at) AS first_at, max(died_at) AS last_at,
        max(resubmit_count) AS resubmits, max(message_id) AS newest_id
    FROM alike JOIN lanes USING (queue_id)
    WHERE (SELECT true FROM broker_ready AS ready
        WHERE ready.queue_id = alike.queue_id AND ready.priority = ANY (lanes.priorities)
          AND ready.pos = ANY (ARRAY[
              alike.message_id, alike.message_id - 4611686018427387904])
        LIMIT 1)
    GROUP BY 1, 2, 3, 4, 5, 6
)
SELECT fingerprint, pattern, cause, origin_queue, queue_id, sum(messages)::bigint,
    min(first_at), max(last_at), max(resubmits), max(newest_id),
    coalesce(array_agg(DISTINCT reason) FILTER (WHERE reason > 0), '{}')
FROM part
GROUP BY 1, 2, 3, 4, 5
ORDER BY 6 DESC, 1, 4, 3, 5;
