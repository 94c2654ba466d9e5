-- Read the facts for rules of the dead letters on a queue.
--
-- Each letter is looked up by its whole key, the usual priority first: with less, the
-- planner underestimates a long queue and reads all of it for each letter.
-- Order    message; after a cursor.
-- Locks    none: it only reads.
-- Index    broker_dead_letter_pkey, broker_ready_pkey, broker_message_pkey
-- Returns  the fields of broker.operations.rules.dead_letter_facts.StoredDeadLetter.
SELECT dead.message_id, dead.origin_id, dead.died_at, dead.reason, dead.fingerprint,
    dead.origin_queue, message.durable, message.reply_to, message.producer,
    message.content_type, message.descriptor, message.headers,
    CASE WHEN message.descriptor ->> 'format' IN ('MQDEAD', 'MQHRF2')
        THEN substring(message.body FOR %(head_bytes)s::integer) END,
    message.properties,
    octet_length(message.body) + coalesce(octet_length(message.headers), 0)
FROM broker_dead_letter AS dead, LATERAL (
    SELECT * FROM broker_message WHERE id = dead.message_id LIMIT 1
) AS message
WHERE dead.queue_id = %(queue_id)s::integer
  AND dead.message_id > %(after)s::bigint
  AND (SELECT is_there
      FROM unnest(ARRAY[4, 0, 1, 2, 3, 5, 6, 7, 8, 9]::smallint[]) AS lane (priority),
          unnest(ARRAY[
              dead.message_id, dead.message_id - 4611686018427387904]) AS place (pos),
          LATERAL (
              SELECT true AS is_there FROM broker_ready
              WHERE queue_id = dead.queue_id AND priority = lane.priority
                AND pos = place.pos LIMIT 1) AS ready
      LIMIT 1)
ORDER BY dead.message_id
LIMIT %(limit)s::bigint;
