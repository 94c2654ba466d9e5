-- Take named entries of one queue from where they are ready.
--
-- Order    by id; an entry stands at its id, or 2^62 before it when it came back.
-- Locks    the entries; what another transaction holds is skipped.
-- Index    broker_ready_pkey
-- Returns  the fields of broker.settle.Held, by id; fewer than asked for where some are
--          no longer there.
WITH taken AS (
    DELETE FROM broker_ready
    WHERE ctid = ANY (ARRAY(
        SELECT found.ctid
        FROM unnest(%(ids)b::bigint[]) AS named (id),
        LATERAL (
            SELECT ready.ctid FROM broker_ready AS ready
            WHERE ready.queue_id = %(queue_id)s::integer
              AND ready.priority = ANY (ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]::smallint[])
              AND ready.pos = ANY (ARRAY[named.id, named.id - 4611686018427387904])
            FOR UPDATE SKIP LOCKED
        ) AS found
    ))
    RETURNING queue_id, id, priority, backout_count, delivery_count, expires_at
)
SELECT *, coalesce(expires_at <= coalesce(%(now)s::timestamptz, statement_timestamp()), false)
FROM taken ORDER BY id;
