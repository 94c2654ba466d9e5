-- Find which of some messages are dead letters by IBM MQ's rules: by their story, or by the
-- header that a program put before them.
--
-- Locks    none.
-- Index    broker_dead_letter_pkey, broker_message_pkey
-- Returns  message id, descriptor and headers of each of these dead letters, and the
--          beginning of its body if there are no headers apart.
SELECT message.id, message.descriptor, message.headers,
    CASE WHEN coalesce(octet_length(message.headers), 0) = 0
        THEN substring(message.body FOR %(head_bytes)s::integer) END
FROM unnest(%(ids)b::bigint[]) AS named (id)
JOIN LATERAL (
    SELECT * FROM broker_message WHERE id = named.id LIMIT 1
) AS message ON true
LEFT JOIN LATERAL (
    SELECT cause FROM broker_dead_letter AS dead
    WHERE dead.message_id = named.id
    ORDER BY cause = ANY (%(causes)b::text[]) DESC LIMIT 1
) AS letter ON true
WHERE letter.cause = ANY (%(causes)b::text[])
   OR letter.cause IS NULL AND message.descriptor ->> 'format' = 'MQDEAD';
