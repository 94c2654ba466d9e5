-- Read the facts for rules of the messages that are ready on a dead letter queue.
--
-- A message is looked for by position: its id or, after a backout, less than 0. So each
-- priority has two ranges, of which only the first messages are read.
-- Order    message; after a cursor.
-- Locks    none: it only reads.
-- Index    broker_ready_pkey, broker_dead_letter_pkey, broker_message_pkey
-- Returns  the fields of broker.operations.rules.dead_letter_facts.StoredDeadLetter.
SELECT ready.id, dead.message_id IS NOT NULL,
    coalesce(dead.origin_id, message.copied_from, ready.id),
    coalesce(dead.died_at, message.put_at), dead.reason, coalesce(dead.fingerprint, ''),
    coalesce(dead.origin_queue, ''), message.durable, message.reply_to,
    message.producer, message.content_type, message.descriptor, message.headers,
    CASE WHEN message.descriptor ->> 'format' IN ('MQDEAD', 'MQHRF2')
        THEN substring(message.body FOR %(head_bytes)s::integer) END,
    message.properties,
    octet_length(message.body) + coalesce(octet_length(message.headers), 0)
FROM (
    SELECT entry.id
    FROM unnest(ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]::smallint[]) AS lane (priority),
        (VALUES (0::bigint, 9223372036854775807), (4611686018427387904, 0)
        ) AS part (lower_by, below),
        LATERAL (
            SELECT id FROM broker_ready
            WHERE queue_id = %(queue_id)s::integer AND priority = lane.priority
              AND pos > %(after)s::bigint - part.lower_by AND pos < part.below
            ORDER BY pos LIMIT %(limit)s::bigint
        ) AS entry
    ORDER BY entry.id
    LIMIT %(limit)s::bigint
) AS ready
JOIN LATERAL (
    SELECT * FROM broker_message WHERE id = ready.id LIMIT 1
) AS message ON true
LEFT JOIN LATERAL (
    SELECT * FROM broker_dead_letter
    WHERE message_id = ready.id AND queue_id = %(queue_id)s::integer LIMIT 1
) AS dead ON true
ORDER BY ready.id;
