-- Take ready entries of one queue by id.
--
-- It skips empty lanes, as most of a queue's ten lanes are empty.
--
-- Order    by id; the position of an entry is its id, or its id less 2^62 if returned.
-- Locks    the entries; entries locked by another transaction are skipped.
-- Index    broker_ready_pkey
-- Returns  the fields of broker.operations.items.Taken, by id; without entries that
--          are no longer there, or have expired and are not wanted.
WITH lanes AS MATERIALIZED (
    SELECT number::smallint AS priority FROM generate_series(0, 9) AS number
    WHERE (SELECT true FROM broker_ready
        WHERE queue_id = %(queue_id)s::integer AND priority = number::smallint
        ORDER BY pos DESC LIMIT 1)
),
taken AS (
    DELETE FROM broker_ready
    WHERE ctid = ANY (ARRAY(
        SELECT found.ctid
        FROM unnest(%(ids)b::bigint[]) AS named (id),
        LATERAL (
            SELECT ready.ctid FROM broker_ready AS ready
            WHERE ready.queue_id = %(queue_id)s::integer
              AND ready.priority = ANY (ARRAY(SELECT priority FROM lanes))
              AND ready.pos = ANY (ARRAY[named.id, named.id - 4611686018427387904])
              AND (%(expired_too)s::boolean OR ready.expires_at IS NULL OR ready.expires_at
                  > coalesce(%(now)s::timestamptz, statement_timestamp()))
            FOR UPDATE SKIP LOCKED
        ) AS found
    ))
    RETURNING queue_id, id, priority, backout_count, delivery_count, expires_at
)
SELECT *,
    coalesce(expires_at <= coalesce(%(now)s::timestamptz, statement_timestamp()), false),
    NULL::timestamptz
FROM taken ORDER BY id;
