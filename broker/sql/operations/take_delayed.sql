-- Take delayed entries of one queue by id.
--
-- Order    by id.
-- Locks    the entries; entries locked by another transaction are skipped.
-- Index    broker_delayed_pkey
-- Returns  the fields of broker.operations.items.Taken, by id; without entries that
--          are no longer there, or have expired and are not wanted.
WITH taken AS (
    DELETE FROM broker_delayed
    WHERE ctid = ANY (ARRAY(
        SELECT found.ctid FROM unnest(%(ids)b::bigint[]) AS named (id), LATERAL (
            SELECT delayed.ctid FROM broker_delayed AS delayed
            WHERE delayed.id = named.id AND delayed.queue_id = %(queue_id)s::integer
              AND (%(expired_too)s::boolean OR delayed.expires_at IS NULL
                   OR delayed.expires_at
                      > coalesce(%(now)s::timestamptz, statement_timestamp()))
            FOR UPDATE SKIP LOCKED
        ) AS found
    ))
    RETURNING queue_id, id, priority, backout_count, delivery_count, expires_at, due_at
)
SELECT queue_id, id, priority, backout_count, delivery_count, expires_at,
    coalesce(expires_at <= coalesce(%(now)s::timestamptz, statement_timestamp()), false),
    due_at
FROM taken ORDER BY id;
