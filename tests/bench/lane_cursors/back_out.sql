-- Back out a unit of work: its entries return, after a delay or at once.
WITH ended AS (
    DELETE FROM broker_unit_of_work WHERE id = %(uow)s::bigint RETURNING id
),
settled AS (
    DELETE FROM lane_claim WHERE uow = %(uow)s::bigint AND EXISTS (SELECT FROM ended)
    RETURNING *
),
entries AS MATERIALIZED (
    SELECT queue_id, priority, xid, id, coalesce(stored, queue_id) AS stored_under,
        coalesce(backout_count, 0) + 1 AS backout_count,
        coalesce(delivery_count, 1) AS delivery_count
    FROM settled, unnest(priorities, xids, ids, stored_under, backout_counts,
        delivery_counts) AS entry (priority, xid, id, stored, backout_count, delivery_count)
),
returned AS (
    INSERT INTO lane_entry SELECT * FROM entries WHERE %(delay)s::interval IS NULL
),
waiting AS (
    INSERT INTO lane_delayed SELECT *, statement_timestamp() + %(delay)s::interval
    FROM entries WHERE %(delay)s::interval IS NOT NULL
),
journal AS (
    INSERT INTO lane_event (at, uow, queue_id, n, kind, came_from, went_to, actor, ids)
    SELECT statement_timestamp(), uow, queue_id, cardinality(ids), 4, 2,
        CASE WHEN %(delay)s::interval IS NULL THEN 1 ELSE 3 END, %(actor)s::text, ids
    FROM settled
)
SELECT count(*) FROM entries;
