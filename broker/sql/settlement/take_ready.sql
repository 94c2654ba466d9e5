-- Take named entries of one queue from where they are ready.
--
-- It looks into no lane that is empty, as most of the ten are.
--
-- Order    by id; an entry stands at its id, or 2^62 before it when it came back.
-- Locks    the entries; what another transaction holds is skipped.
-- Index    broker_ready_pkey
-- Returns  the fields of broker.operations.claim_items.Taken, by id; fewer than asked for
--          where some are no longer there, or have expired and are not wanted then.
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
