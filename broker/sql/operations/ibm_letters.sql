-- Find which of some messages are dead letters by IBM MQ's rules.
--
-- Locks    none.
-- Index    broker_dead_letter_pkey, broker_message_pkey
-- Returns  message id, descriptor and headers of each of these dead letters.
SELECT message.id, message.descriptor, message.headers
FROM unnest(%(ids)b::bigint[]) AS named (id), LATERAL (
    SELECT message_id FROM broker_dead_letter AS dead
    WHERE dead.message_id = named.id AND cause = ANY (%(causes)b::text[]) LIMIT 1
) AS letter
JOIN broker_message AS message ON message.id = letter.message_id;
