-- Commit units of work: their entries are accepted and leave their queues. All of them, or
-- none.
--
-- Locks    the units of work, by id: a second transaction that ends one finds it gone. Then
--          their claims, in their latest version.
-- Index    broker_unit_of_work_pkey, broker_claim_pkey
-- Returns  a row if the units of work existed and held the expected number of entries. Else
--          the statement fails with a division by zero, which rolls it back; so it needs no
--          transaction. It fails, too, if a get follows in the same statement.
WITH ended AS (
    DELETE FROM broker_unit_of_work WHERE id = ANY (%(ended_uows)b::bigint[]) RETURNING id
),
settled AS (
    DELETE FROM broker_claim
    WHERE uow = ANY (%(ended_uows)b::bigint[]) AND (SELECT count(*) FROM ended) > 0
    RETURNING uow, queue_id, ids, claimed_at,
        coalesce(%(now)s::timestamptz, statement_timestamp()) AS at
),
held AS (
    SELECT 1 / ((SELECT count(*) FROM ended) = cardinality(%(ended_uows)b::bigint[])
        AND coalesce(sum(cardinality(ids)), 0) = %(expected)s::integer)::integer AS is_whole
    FROM settled
),
acceptance AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, actor, ids, held_ms)
    SELECT at, uow, queue_id, cardinality(ids), 3, 2, %(actor)s::text, ids,
        greatest(least(date_part('epoch', at - claimed_at) * 1000, 2147483647), 0)
    FROM settled WHERE (SELECT is_whole FROM held) = 1
)
SELECT is_whole FROM held;
