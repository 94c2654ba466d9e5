-- Accept a unit of work, as the broker's accept.sql.
WITH ended AS (
    DELETE FROM broker_unit_of_work WHERE id = %(uow)s::bigint RETURNING id
),
settled AS (
    DELETE FROM lane_claim WHERE uow = %(uow)s::bigint AND EXISTS (SELECT FROM ended)
    RETURNING uow, queue_id, ids
),
journal AS (
    INSERT INTO lane_event (at, uow, queue_id, n, kind, came_from, actor, ids)
    SELECT statement_timestamp(), uow, queue_id, cardinality(ids), 3, 2, %(actor)s::text, ids
    FROM settled
)
SELECT 1 / (EXISTS (SELECT FROM ended)
    AND coalesce(sum(cardinality(ids)), 0) = %(expected)s::integer)::integer
FROM settled;
