-- Show the dead letters of one group that lie on a queue now, the newest first.
--
-- Order    message, descending; from one on.
-- Locks    none: looking changes nothing.
-- Index    broker_dead_letter_pkey, broker_ready_pkey
-- Returns  the fields of broker.triage.Letter.
SELECT dead.message_id, dead.queue_id, dead.cause, dead.error, dead.fingerprint,
    dead.pattern, dead.origin_address, dead.origin_queue, dead.origin_id,
    dead.backout_count, dead.resubmit_count, dead.died_at, message.content_type,
    octet_length(message.body), dead.reason
FROM broker_dead_letter AS dead
JOIN broker_message AS message ON message.id = dead.message_id
WHERE dead.fingerprint = coalesce(%(fingerprint)s::text, dead.fingerprint)
  AND dead.origin_queue = coalesce(%(origin_queue)s::text, dead.origin_queue)
  AND dead.cause = coalesce(%(cause)s::text, dead.cause)
  AND dead.queue_id = coalesce(%(queue_id)s::integer, dead.queue_id)
  AND (%(within)s::integer[] IS NULL OR dead.queue_id = ANY (%(within)s::integer[]))
  AND dead.message_id < %(before)s::bigint
  AND (SELECT true FROM broker_ready AS ready
      WHERE ready.queue_id = dead.queue_id
        AND ready.priority = ANY (ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]::smallint[])
        AND ready.pos = ANY (ARRAY[
            dead.message_id, dead.message_id - 4611686018427387904])
       LIMIT 1)
ORDER BY dead.message_id DESC
LIMIT %(limit)s::bigint;
