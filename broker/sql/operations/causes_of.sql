-- Find the errors of the messages of an operation, and the results of earlier resubmits of
-- these errors; for items in a range of statuses.
--
-- Order    the most frequent error first.
-- Locks    none.
-- Index    broker_item_next, broker_dead_letter_pkey, one_experience_a_fingerprint
-- Returns  the fields of broker.operations.error_history.Cause.
SELECT cause.*, coalesce(known.processed, 0), coalesce(known.died, 0), known.since
FROM (
    SELECT dead.fingerprint, min(dead.pattern), count(*),
        count(*) FILTER (WHERE dead.resubmit_count > 0)
    FROM broker_operationitem AS item, LATERAL (
        SELECT fingerprint, pattern, resubmit_count FROM broker_dead_letter
        WHERE message_id = item.message_id AND queue_id = item.queue_id LIMIT 1
    ) AS dead
    WHERE (item.operation_id, item.status) >= (%(operation_id)s::bigint, %(first_status)s::text)
      AND (item.operation_id, item.status) <= (%(operation_id)s::bigint, %(last_status)s::text)
    GROUP BY dead.fingerprint
    ORDER BY count(*) DESC, dead.fingerprint
    LIMIT %(limit)s::bigint
) AS cause (fingerprint, pattern, messages, again)
LEFT JOIN LATERAL (
    SELECT * FROM broker_experience WHERE fingerprint = cause.fingerprint LIMIT 1
) AS known ON true
ORDER BY messages DESC, fingerprint;
