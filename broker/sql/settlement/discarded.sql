-- List the discard bin, the newest first.
--
-- Order    time of the discard, message and queue, descending; after a cursor.
-- Locks    none: it only reads.
-- Index    broker_discarded_order
-- Returns  the fields of broker.settlement.discards.Binned.
SELECT found.message_id, found.queue_id, found.queue, found.discarded_at,
    found.keep_until, found.reason, found.why, found.backout_count, found.expires_at,
    coalesce(message.content_type, ''), coalesce(octet_length(message.body), 0),
    NOT EXISTS (SELECT FROM broker_queue WHERE broker_queue.id = found.queue_id)
        AND NOT EXISTS (SELECT FROM broker_queue WHERE broker_queue.name = found.queue)
FROM (
    SELECT * FROM broker_discarded
    WHERE (discarded_at, message_id, queue_id) < (
            coalesce(%(at)s::timestamptz, 'infinity'),
            coalesce(%(message_id)s::bigint, 0), coalesce(%(queue_id)s::integer, 0))
      AND queue = coalesce(%(queue)s::text, queue)
      AND coalesce(reason, 0) = coalesce(%(reason)s::integer, reason, 0)
      AND (%(ids)s::bigint[] IS NULL OR message_id = ANY (%(ids)s::bigint[]))
      AND (%(within)s::text[] IS NULL OR queue = ANY (%(within)s::text[]))
      AND (%(fingerprint)s::text IS NULL OR EXISTS (
          SELECT FROM broker_dead_letter AS dead
          WHERE dead.message_id = broker_discarded.message_id
            AND dead.queue_id = broker_discarded.queue_id
            AND dead.fingerprint = %(fingerprint)s::text))
    ORDER BY discarded_at DESC, message_id DESC, queue_id DESC
    LIMIT %(limit)s::bigint
) AS found
LEFT JOIN broker_message AS message ON message.id = found.message_id
ORDER BY found.discarded_at DESC, found.message_id DESC, found.queue_id DESC;
