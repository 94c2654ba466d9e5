-- Take entries out of open units of work: accepted entries leave their queues, the others
-- are returned for the caller to place. All requested entries, or none.
--
-- The request has two parallel arrays: ids, and the number of the group of each, from 0. It
-- has also the ranges of these arrays that belong to one queue of one unit of work; within
-- a range the ids ascend.
--
-- Locks    the units of work, by id, so that they do not end meanwhile; their claims.
-- Index    broker_unit_of_work_pkey, broker_claim_pkey
-- Returns  for each entry that is not accepted, by number and id: the number of its group
--          and the fields of broker.queueing.transfer.TakenEntry. But if an entry is not
--          held, the numbers of the groups of such entries, with nulls.
WITH unit AS MATERIALIZED (
    SELECT id FROM broker_unit_of_work WHERE id = ANY (%(uows)b::bigint[])
    ORDER BY id FOR UPDATE
),
-- The rows are locked, so this reads their latest version: settled entries are gone.
claim AS MATERIALIZED (
    SELECT claim.*, asked.ids AS asked_ids, asked.before
    FROM broker_claim AS claim, (
        SELECT uow, queue_id, first - 1 AS before, (%(ids)b::bigint[])[first:last] AS ids
        FROM unnest(%(uows)b::bigint[], %(queue_ids)b::integer[], %(firsts)b::integer[],
            %(lasts)b::integer[]) AS part (uow, queue_id, first, last)
    ) AS asked
    WHERE claim.uow = asked.uow AND claim.queue_id = asked.queue_id
      -- Forces the use of the index.
      AND claim.uow BETWEEN %(lowest)s::bigint AND %(highest)s::bigint
      AND (SELECT count(*) FROM unit) > 0
      AND claim.ids[1] <= asked.ids[cardinality(asked.ids)]
      AND claim.ids[cardinality(claim.ids)] >= asked.ids[1]
    FOR UPDATE OF claim
),
split AS MATERIALIZED (
    SELECT claim.uow, claim.claim_id, claim.queue_id, claim.claimed_at, parts.*
    FROM claim, LATERAL (
        SELECT array_agg(id) FILTER (WHERE at IS NULL) AS ids,
            array_agg(priority) FILTER (WHERE at IS NULL) AS priorities,
            array_agg(backout_count) FILTER (WHERE at IS NULL) AS backout_counts,
            array_agg(delivery_count) FILTER (WHERE at IS NULL) AS delivery_counts,
            array_agg(expires_at) FILTER (WHERE at IS NULL) AS expiries,
            array_agg(claim.before + at) FILTER (WHERE at > 0) AS places,
            array_agg(priority) FILTER (WHERE at > 0) AS their_priorities,
            array_agg(backout_count) FILTER (WHERE at > 0) AS their_backout_counts,
            array_agg(delivery_count) FILTER (WHERE at > 0) AS their_delivery_counts,
            array_agg(expires_at) FILTER (WHERE at > 0) AS their_expiries
        FROM (
            SELECT *, array_position(claim.asked_ids, id) AS at
            FROM unnest(claim.ids, claim.priorities, claim.backout_counts,
                claim.delivery_counts, claim.expiries) AS held (
                id, priority, backout_count, delivery_count, expires_at)
            OFFSET 0  -- search the arrays of each claim once
        ) AS entry
    ) AS parts
),
found AS MATERIALIZED (
    SELECT (%(numbers)b::bigint[])[place] AS number, (%(ids)b::bigint[])[place] AS id,
        split.uow, split.queue_id, split.claimed_at, their.*
    FROM split, unnest(places, their_priorities, their_backout_counts,
        their_delivery_counts, their_expiries) AS their (
        place, priority, backout_count, delivery_count, expires_at)
),
-- If an entry is missing, nothing is taken.
whole AS MATERIALIZED (
    SELECT count(*) = cardinality(%(ids)b::bigint[]) AS is_whole FROM found
),
shrunk AS (
    UPDATE broker_claim AS claim
    SET ids = split.ids, priorities = split.priorities,
        backout_counts = split.backout_counts,
        delivery_counts = split.delivery_counts, expiries = split.expiries
    FROM split
    WHERE claim.uow = split.uow AND claim.claim_id = split.claim_id
      AND claim.uow BETWEEN %(lowest)s::bigint AND %(highest)s::bigint
      AND split.ids IS NOT NULL AND split.places IS NOT NULL
      AND (SELECT is_whole FROM whole)
),
emptied AS (
    DELETE FROM broker_claim AS claim USING split
    WHERE claim.uow = split.uow AND claim.claim_id = split.claim_id
      AND claim.uow BETWEEN %(lowest)s::bigint AND %(highest)s::bigint
      AND split.ids IS NULL AND (SELECT is_whole FROM whole)
),
journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, actor, ids, held_ms)
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()), uow, queue_id,
        count(*), 3, 2, (%(actors)b::text[])[number + 1], array_agg(id ORDER BY id),
        greatest(least(date_part('epoch',
            coalesce(%(now)s::timestamptz, statement_timestamp()) - min(claimed_at)) * 1000, 2147483647), 0)
    FROM found
    WHERE (%(accepts)b::boolean[])[number + 1] AND (SELECT is_whole FROM whole)
    GROUP BY number, uow, queue_id
)
SELECT number, queue_id, id, priority, backout_count, delivery_count, expires_at,
    coalesce(expires_at <= coalesce(%(now)s::timestamptz, statement_timestamp()), false)
FROM found
WHERE NOT (%(accepts)b::boolean[])[number + 1] AND (SELECT is_whole FROM whole)
UNION ALL
SELECT DISTINCT (%(numbers)b::bigint[])[place], NULL::integer, NULL::bigint,
    NULL::smallint, NULL::integer, NULL::integer, NULL::timestamptz, NULL::boolean
FROM generate_subscripts(%(ids)b::bigint[], 1) AS asked (place)
WHERE NOT (SELECT is_whole FROM whole) AND place NOT IN (SELECT place FROM found)
ORDER BY number, id;
