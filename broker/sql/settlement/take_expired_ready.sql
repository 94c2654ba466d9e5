-- Take expired entries that are ready.
--
-- Order    the longest expired first.
-- Locks    the entries; entries locked by another transaction are skipped.
-- Index    broker_ready_expiry
-- Returns  the fields of broker.queueing.transfer.TakenEntry, by queue and id.
WITH taken AS (
    DELETE FROM broker_ready
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM broker_ready
        WHERE expires_at <= coalesce(%(now)s::timestamptz, statement_timestamp())
        ORDER BY expires_at
        LIMIT %(limit)s::bigint
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING queue_id, id, priority, backout_count, delivery_count, expires_at
)
SELECT *, true FROM taken ORDER BY queue_id, id;
