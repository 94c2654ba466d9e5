-- End a unit of work well: its entries leave their queues.
--
-- Locks    the unit of work: of two who end it, one finds it gone. Then its claims,
--          which go as they are after whoever had them before.
-- Index    broker_unit_of_work_pkey, broker_claim_pkey
-- Returns  a row, if it was there and as many entries left as its holder believes. Else
--          it divides by zero, which undoes it: so it needs no transaction around it.
WITH ended AS (
    DELETE FROM broker_unit_of_work WHERE id = %(uow)s::bigint RETURNING id
),
settled AS (
    DELETE FROM broker_claim
    WHERE uow = %(uow)s::bigint AND EXISTS (SELECT FROM ended)
    RETURNING uow, queue_id, ids
),
journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, actor, ids)
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()), uow, queue_id, cardinality(ids),
        3, 2, %(actor)s::text, ids
    FROM settled
)
SELECT 1 / (EXISTS (SELECT FROM ended)
    AND coalesce(sum(cardinality(ids)), 0) = %(expected)s::integer)::integer
FROM settled;
