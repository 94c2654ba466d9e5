-- Take entries out of the discard bin, to reinstate them.
--
-- Locks    the entries of the bin; entries locked by another transaction are skipped.
-- Index    broker_discarded_pkey
-- Returns  the queue and the message of each; without entries that are not in the bin, or
--          past their retention.
WITH taken AS (
    DELETE FROM broker_discarded WHERE ctid = ANY (ARRAY(
        SELECT found.ctid
        FROM unnest(%(queue_ids)b::integer[], %(ids)b::bigint[]) AS named (queue_id, id),
        LATERAL (
            SELECT bin.ctid FROM broker_discarded AS bin
            WHERE bin.message_id = named.id AND bin.queue_id = named.queue_id
              AND bin.keep_until > coalesce(%(now)s::timestamptz, statement_timestamp())
            FOR UPDATE SKIP LOCKED
        ) AS found
    ))
    RETURNING queue_id, message_id
)
SELECT queue_id, message_id FROM taken;
