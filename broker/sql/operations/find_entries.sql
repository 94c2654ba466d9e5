-- Find entries of one queue by id, in all states.
--
-- Order    by id.
-- Locks    none: it only reads.
-- Index    broker_ready_pkey, broker_delayed_pkey
-- Returns  the fields of broker.operations.items.Found.
WITH lanes AS MATERIALIZED (
    SELECT number::smallint AS priority FROM generate_series(0, 9) AS number
    WHERE (SELECT true FROM broker_ready
        WHERE queue_id = %(queue_id)s::integer AND priority = number::smallint
        ORDER BY pos DESC LIMIT 1)
)
SELECT * FROM (
    SELECT ready.id, 1 AS place, ready.priority, ready.backout_count,
        ready.delivery_count, ready.expires_at,
        coalesce(ready.expires_at
            <= coalesce(%(now)s::timestamptz, statement_timestamp()), false) AS expired
    FROM unnest(%(ids)b::bigint[]) AS named (id), LATERAL (
        SELECT * FROM broker_ready
        WHERE queue_id = %(queue_id)s::integer
          AND priority = ANY (ARRAY(SELECT priority FROM lanes))
          AND pos = ANY (ARRAY[named.id, named.id - 4611686018427387904])
    ) AS ready
    UNION ALL
    SELECT delayed.id, 3, delayed.priority, delayed.backout_count,
        delayed.delivery_count, delayed.expires_at,
        coalesce(delayed.expires_at
            <= coalesce(%(now)s::timestamptz, statement_timestamp()), false)
    FROM unnest(%(ids)b::bigint[]) AS named (id), LATERAL (
        SELECT * FROM broker_delayed
        WHERE id = named.id AND queue_id = %(queue_id)s::integer OFFSET 0
    ) AS delayed
    UNION ALL
    SELECT held.id, 2, held.priority, held.backout_count, held.delivery_count,
        held.expires_at, false
    FROM broker_claim AS claim,
        unnest(claim.ids, claim.priorities, claim.backout_counts,
            claim.delivery_counts, claim.expiries) AS held (
            id, priority, backout_count, delivery_count, expires_at)
    WHERE claim.queue_id = %(queue_id)s::integer AND claim.ids && %(ids)b::bigint[]
      AND held.id = ANY (%(ids)b::bigint[])
) AS found
ORDER BY id;
