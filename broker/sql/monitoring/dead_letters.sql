-- List the dead letters of one group that are on a queue now, the newest first.
--
-- The newest letters are read in order, and each is looked up by its whole key, the usual
-- priority first: with less than the key, the planner underestimates a long queue and
-- reads all of it for each letter. If too many of them have left, all ready entries are
-- joined at once.
-- Order    message, descending; below a cursor.
-- Locks    none: it only reads.
-- Index    broker_dead_letter_pkey, broker_ready_pkey, broker_message_pkey
-- Returns  the fields of broker.monitoring.dead_letters.Letter.
WITH seen AS MATERIALIZED (
    SELECT message_id, queue_id, (
        SELECT true
        FROM unnest(ARRAY[4, 0, 1, 2, 3, 5, 6, 7, 8, 9]::smallint[]) AS lane (priority),
            unnest(ARRAY[
                dead.message_id, dead.message_id - 4611686018427387904]) AS place (pos),
            LATERAL (
                SELECT FROM broker_ready
                WHERE queue_id = dead.queue_id AND priority = lane.priority
                  AND pos = place.pos LIMIT 1) AS ready
        LIMIT 1) AS is_there
    FROM (
        SELECT * FROM broker_dead_letter WHERE message_id < %(before)s::bigint
        ORDER BY message_id DESC OFFSET 0
    ) AS dead
    WHERE fingerprint = coalesce(%(fingerprint)s::text, fingerprint)
      AND origin_queue = coalesce(%(origin_queue)s::text, origin_queue)
      AND cause = coalesce(%(cause)s::text, cause)
      AND queue_id = coalesce(%(queue_id)s::integer, queue_id)
      AND (%(within)s::integer[] IS NULL
          OR queue_id IN (SELECT unnest(%(within)s::integer[])))
    LIMIT %(scan)s::bigint
),
enough AS MATERIALIZED (
    SELECT count(is_there) >= %(limit)s::bigint OR count(*) < %(scan)s::bigint AS is_so
    FROM seen
),
shown AS (
    SELECT message_id, queue_id FROM seen WHERE is_there AND (SELECT is_so FROM enough)
    UNION ALL
    SELECT message_id, queue_id FROM broker_dead_letter AS dead
    WHERE NOT (SELECT is_so FROM enough) AND message_id < %(before)s::bigint
      AND fingerprint = coalesce(%(fingerprint)s::text, fingerprint)
      AND origin_queue = coalesce(%(origin_queue)s::text, origin_queue)
      AND cause = coalesce(%(cause)s::text, cause)
      AND queue_id = coalesce(%(queue_id)s::integer, queue_id)
      AND (%(within)s::integer[] IS NULL
          OR queue_id IN (SELECT unnest(%(within)s::integer[])))
      AND (queue_id, message_id) IN (
        SELECT queue_id, pos + CASE WHEN pos < 0 THEN 4611686018427387904 ELSE 0 END
        FROM broker_ready
        WHERE queue_id = ANY (ARRAY(SELECT DISTINCT queue_id FROM broker_dead_letter)))
    ORDER BY 1 DESC LIMIT %(limit)s::bigint
)
SELECT dead.message_id, dead.queue_id, dead.cause, dead.error, dead.fingerprint,
    dead.pattern, dead.origin_address, dead.origin_queue, dead.origin_id,
    dead.backout_count, dead.resubmit_count, dead.died_at, message.content_type,
    message.size, dead.reason
FROM shown JOIN broker_dead_letter AS dead USING (message_id, queue_id), LATERAL (
    SELECT content_type, octet_length(body) AS size FROM broker_message
    WHERE id = dead.message_id LIMIT 1
) AS message
ORDER BY dead.message_id DESC;
