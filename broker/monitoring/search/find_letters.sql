-- Dead letters read from their own index: an additional source in find.sql.
--
-- Index    broker_dead_letter_fingerprint, broker_dead_letter_late
UNION ALL
    SELECT found.message_id, found.queue_id, 1, true, NULL, NULL, NULL, NULL
    FROM unnest({lows}::bigint[], {highs}::bigint[]) AS range (low, high), LATERAL (
        SELECT message_id, queue_id FROM broker_dead_letter
        WHERE message_id >= range.low AND message_id < range.high
          AND queue_id = ANY (%(queue_ids)s::integer[])
          AND (message_id, queue_id) < (%(before_id)s::bigint, %(before_queue)s::integer)
          AND {condition}
        ORDER BY message_id DESC, queue_id DESC LIMIT %(scan)s::bigint) AS found
