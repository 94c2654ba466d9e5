-- Accept the only message of a unit of work, and keep what its task returned: accept.sql
-- with one more row.
--
-- Locks    as in accept.sql.
-- Index    broker_unit_of_work_pkey, broker_claim_pkey
-- Returns  as accept.sql.
WITH ended AS (
    DELETE FROM broker_unit_of_work WHERE id = %(uow)s::bigint RETURNING id
),
settled AS (
    DELETE FROM broker_claim
    WHERE uow = %(uow)s::bigint AND EXISTS (SELECT FROM ended)
    RETURNING uow, queue_id, ids, claimed_at,
        coalesce(%(now)s::timestamptz, statement_timestamp()) AS at
),
returned AS (
    INSERT INTO broker_returned (message_id, value)
    SELECT ids[1], %(value)s::jsonb FROM settled
),
journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, actor, ids, held_ms)
    SELECT at, uow, queue_id, cardinality(ids), 3, 2, %(actor)s::text, ids,
        greatest(least(date_part('epoch', at - claimed_at) * 1000, 2147483647), 0)
    FROM settled
)
SELECT 1 / (EXISTS (SELECT FROM ended)
    AND coalesce(sum(cardinality(ids)), 0) = 1)::integer
FROM settled;
