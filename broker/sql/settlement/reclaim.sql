-- Begin a unit of work with one entry that the caller has taken from another unit of work.
--
-- Locks    none.
-- Index    none; it only inserts.
-- Returns  the id of the unit of work.
WITH opened AS (
    INSERT INTO broker_unit_of_work (id, owner_id, started_at, deadline)
    SELECT nextval('broker_unit_of_work_id_seq'), %(owner)s::integer, began.at,
        began.at + %(timeout)s::interval
    FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at) AS began
    RETURNING id, started_at
),
claimed AS (
    INSERT INTO broker_claim (uow, claim_id, queue_id, claimed_at, ids, priorities,
        backout_counts, delivery_counts, expiries)
    SELECT id, 0, %(queue_id)s::integer, started_at, ARRAY[%(id)s::bigint],
        ARRAY[%(priority)s::smallint], ARRAY[%(backout_count)s::integer],
        ARRAY[%(delivery_count)s::integer], ARRAY[%(expires_at)s::timestamptz]
    FROM opened
),
journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, went_to, actor,
        ids, detail)
    SELECT started_at, id, %(queue_id)s::integer, 1, 12, 2, 2, %(actor)s::text,
        ARRAY[%(id)s::bigint], jsonb_build_object(
            'from_uow', %(uow)s::bigint, 'error', %(error)s::text)
    FROM opened
)
SELECT id FROM opened;
