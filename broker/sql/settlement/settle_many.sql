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
-- A cast converts a whole array, each time that it is evaluated; so once, not for each row.
request AS MATERIALIZED (
    SELECT %(ids)b::bigint[] AS ids, %(numbers)b::bigint[] AS numbers
),
-- The rows are locked, so this reads their latest version: settled entries are gone.
claim AS MATERIALIZED (
    SELECT claim.*, asked.ids AS asked_ids, asked.numbers AS asked_numbers, asked.before
    FROM broker_claim AS claim, (
        SELECT uow, queue_id, first - 1 AS before, request.ids[first:last] AS ids,
            request.numbers[first:last] AS numbers
        FROM request, unnest(%(uows)b::bigint[], %(queue_ids)b::integer[],
            %(firsts)b::integer[], %(lasts)b::integer[]) AS part (uow, queue_id, first, last)
    ) AS asked
    WHERE claim.uow = asked.uow AND claim.queue_id = asked.queue_id
      -- Forces the use of the index.
      AND claim.uow BETWEEN %(lowest)s::bigint AND %(highest)s::bigint
      AND (SELECT count(*) FROM unit) > 0
      AND claim.ids[1] <= asked.ids[cardinality(asked.ids)]
      AND claim.ids[cardinality(claim.ids)] >= asked.ids[1]
    FOR UPDATE OF claim
),
-- ``at`` is the last place with an id up to this one, by binary search.
found AS MATERIALIZED (
    SELECT uow, queue_id, claimed_at, before + at AS place, asked_numbers[at] AS number,
        entry.*
    FROM claim, LATERAL (
        SELECT *, width_bucket(id, asked_ids) AS at
        FROM unnest(ids, priorities, backout_counts, delivery_counts, expiries) AS held (
            id, priority, backout_count, delivery_count, expires_at)
        OFFSET 0  -- search once for each entry
    ) AS entry
    WHERE asked_ids[at] = id
),
split AS MATERIALIZED (
    SELECT uow, claim_id, rest.*
    FROM claim, LATERAL (
        SELECT array_agg(id) AS ids, array_agg(priority) AS priorities,
            array_agg(backout_count) AS backout_counts,
            array_agg(delivery_count) AS delivery_counts, array_agg(expires_at) AS expiries
        FROM unnest(ids, priorities, backout_counts, delivery_counts, expiries) AS held (
            id, priority, backout_count, delivery_count, expires_at)
        WHERE asked_ids[width_bucket(id, asked_ids)] IS DISTINCT FROM id
    ) AS rest
),
-- If an entry is missing, nothing is taken.
whole AS MATERIALIZED (
    SELECT count(*) = (SELECT cardinality(ids) FROM request) AS is_whole FROM found
),
shrunk AS (
    UPDATE broker_claim AS claim
    SET ids = split.ids, priorities = split.priorities,
        backout_counts = split.backout_counts,
        delivery_counts = split.delivery_counts, expiries = split.expiries
    FROM split
    WHERE claim.uow = split.uow AND claim.claim_id = split.claim_id
      AND claim.uow BETWEEN %(lowest)s::bigint AND %(highest)s::bigint
      AND cardinality(split.ids) < cardinality(claim.ids)
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
SELECT DISTINCT number, NULL::integer, NULL::bigint,
    NULL::smallint, NULL::integer, NULL::integer, NULL::timestamptz, NULL::boolean
FROM request, unnest(numbers) WITH ORDINALITY AS asked (number, place)
WHERE NOT (SELECT is_whole FROM whole) AND place NOT IN (SELECT place FROM found)
ORDER BY number, id;
