-- Set backout counts to zero on queues that do not harden them, wherever the entries
-- are. Delivery counts stay: they are the fence.
--
-- Order    none.
-- Locks    the entries and claims; what another transaction holds is skipped.
-- Index    none: it runs once, when the broker starts.
-- Returns  how many entries, at most ``limit`` of each place, or those of ``limit``
--          claims.
WITH soft AS MATERIALIZED (
    SELECT id FROM broker_queue WHERE NOT harden_backout
),
ready AS (
    UPDATE broker_ready SET backout_count = 0
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM broker_ready
        WHERE queue_id IN (SELECT id FROM soft) AND backout_count > 0
        LIMIT %(limit)s::bigint FOR UPDATE SKIP LOCKED
    ))
    RETURNING queue_id, id
),
delayed AS (
    UPDATE broker_delayed SET backout_count = 0
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM broker_delayed
        WHERE queue_id IN (SELECT id FROM soft) AND backout_count > 0
        LIMIT %(limit)s::bigint FOR UPDATE SKIP LOCKED
    ))
    RETURNING queue_id, id
),
claim AS MATERIALIZED (
    SELECT uow, claim_id, queue_id, ids, backout_counts FROM broker_claim
    WHERE queue_id IN (SELECT id FROM soft) AND 0 < ANY (backout_counts)
    LIMIT %(limit)s::bigint FOR UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE broker_claim SET backout_counts = array_fill(0, ARRAY[cardinality(claim.ids)])
    FROM claim
    WHERE broker_claim.uow = claim.uow AND broker_claim.claim_id = claim.claim_id
),
forgotten AS (
    SELECT queue_id, id, NULL::bigint AS uow, 1 AS place FROM ready
    UNION ALL SELECT queue_id, id, NULL, 3 FROM delayed
    UNION ALL
    SELECT claim.queue_id, entry.id, claim.uow, 2
    FROM claim, unnest(claim.ids, claim.backout_counts) AS entry (id, backout_count)
    WHERE entry.backout_count > 0
),
journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, went_to, ids)
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()), uow, queue_id,
        count(*), 13, place, place, array_agg(id ORDER BY id)
    FROM forgotten GROUP BY uow, queue_id, place
)
SELECT count(*) FROM forgotten;
