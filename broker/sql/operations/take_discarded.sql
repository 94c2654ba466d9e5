-- Take entries out of the discard bin, to put them back on their queues as they were.
--
-- Locks    the entries of the bin; what another transaction holds is skipped.
-- Index    broker_discarded_pkey
-- Returns  the queue and the message of each; fewer than asked for where the bin does
--          not have them, or not any longer than until now.
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
