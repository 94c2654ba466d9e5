-- Count the dead letters of one error and some queues that are in the discard bin.
--
-- Locks    none: it only reads.
-- Index    broker_dead_letter_pkey
-- Returns  the number of letters, and when the first of them is deleted.
SELECT count(*), min(kept.keep_until)
FROM broker_discarded AS kept, LATERAL (
    SELECT fingerprint FROM broker_dead_letter
    WHERE message_id = kept.message_id AND queue_id = kept.queue_id LIMIT 1
) AS dead
WHERE dead.fingerprint = %(fingerprint)s::text
  AND kept.queue_id = ANY (%(within)b::integer[]);
