-- Find the newest letters of one error that are or were on some queues.
--
-- Order    message, descending.
-- Locks    none: it only reads.
-- Index    broker_dead_letter_fingerprint
-- Returns  the message, the message that it is a copy of, and the pattern of its error.
SELECT message_id, origin_id, pattern
FROM broker_dead_letter
WHERE fingerprint = %(fingerprint)s::text AND queue_id = ANY (%(within)b::integer[])
ORDER BY message_id DESC
LIMIT %(limit)s::bigint;
