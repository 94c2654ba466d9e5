-- End a unit of work well: its entries leave their queues.
--
-- Locks    the unit of work: of two who end it, one finds it gone. Then its claims,
--          which go as they are after whoever had them before.
-- Index    broker_unit_of_work_pkey, broker_claim_pkey
-- Returns  how many units of work ended, 1 or 0, and how many entries left. The caller
--          undoes it if those are not as many as the holder believes.
WITH ended AS (
    DELETE FROM broker_unit_of_work WHERE id = %(uow)s::bigint RETURNING id
),
settled AS (
    DELETE FROM broker_claim USING ended WHERE broker_claim.uow = ended.id
    RETURNING broker_claim.uow, queue_id, ids
),
journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, actor, ids)
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()), uow, queue_id, cardinality(ids),
        3, 2, %(actor)s::text, ids
    FROM settled
)
SELECT (SELECT count(*) FROM ended), coalesce(sum(cardinality(ids)), 0)::bigint
FROM settled;
