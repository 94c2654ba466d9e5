-- Commit units of work, and keep what the tasks of some of them returned: accept.sql with a
-- row more for each of these, which have one message.
--
-- Locks    as in accept.sql.
-- Index    broker_unit_of_work_pkey, broker_claim_pkey
-- Returns  as accept.sql.
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
returned AS (
    INSERT INTO broker_returned (message_id, value)
    SELECT ids[1], one.value::jsonb
    FROM settled JOIN unnest(%(returning)b::bigint[], %(values)b::text[]) AS one (uow, value)
        USING (uow)
),
acceptance AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, actor, ids, held_ms)
    SELECT at, uow, queue_id, cardinality(ids), 3, 2, %(actor)s::text, ids,
        greatest(least(date_part('epoch', at - claimed_at) * 1000, 2147483647), 0)
    FROM settled WHERE (SELECT is_whole FROM held) = 1
)
SELECT is_whole FROM held;
