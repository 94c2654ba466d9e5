-- Reset backout counts to the counts that outlive a restart, for entries in all states.
-- Delivery counts stay: they are the fence. If a limit of records is the reason, a
-- delayed entry also loses its delay, and is due at once.
--
-- Order    none.
-- Locks    the entries and claims; rows locked by another transaction are skipped.
-- Index    none: it runs once, when the broker starts.
-- Returns  the number of entries: at most ``limit`` ready and ``limit`` delayed ones, and
--          those of ``limit`` claims.
WITH kept AS MATERIALIZED (
    SELECT queue_id, most, is_limit FROM unnest(%(queue_ids)b::integer[],
        %(mosts)b::integer[], %(are_limits)b::boolean[]) AS kept (queue_id, most, is_limit)
),
ready AS (
    UPDATE broker_ready AS entry SET backout_count = most FROM kept
    WHERE entry.queue_id = kept.queue_id AND entry.ctid = ANY (ARRAY(
        SELECT ready.ctid FROM broker_ready AS ready JOIN kept USING (queue_id)
        WHERE backout_count > most LIMIT %(limit)s::bigint FOR UPDATE OF ready SKIP LOCKED
    ))
    RETURNING entry.queue_id, id, most
),
delayed AS (
    UPDATE broker_delayed AS entry SET backout_count = most,
        due_at = CASE WHEN is_limit THEN least(due_at,
            coalesce(%(now)s::timestamptz, statement_timestamp())) ELSE due_at END
    FROM kept WHERE entry.queue_id = kept.queue_id AND entry.ctid = ANY (ARRAY(
        SELECT late.ctid FROM broker_delayed AS late JOIN kept USING (queue_id)
        WHERE backout_count > most LIMIT %(limit)s::bigint FOR UPDATE OF late SKIP LOCKED
    ))
    RETURNING entry.queue_id, id, most
),
claim AS MATERIALIZED (
    SELECT uow, claim_id, queue_id, ids, backout_counts, most
    FROM broker_claim AS held JOIN kept USING (queue_id) WHERE most < ANY (backout_counts)
    LIMIT %(limit)s::bigint FOR UPDATE OF held SKIP LOCKED
),
claimed AS (
    UPDATE broker_claim SET backout_counts = ARRAY(
        SELECT least(n, most) FROM unnest(claim.backout_counts) WITH ORDINALITY
            AS one (n, ord) ORDER BY ord)
    FROM claim
    WHERE broker_claim.uow = claim.uow AND broker_claim.claim_id = claim.claim_id
),
forgotten AS (
    SELECT queue_id, id, NULL::bigint AS uow, 1 AS place, most FROM ready
    UNION ALL SELECT queue_id, id, NULL, 3, most FROM delayed
    UNION ALL SELECT claim.queue_id, entry.id, claim.uow, 2, most
    FROM claim, unnest(claim.ids, claim.backout_counts) AS entry (id, backout_count)
    WHERE entry.backout_count > most
),
journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, went_to, ids, detail)
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()), uow, queue_id, count(*),
        13, place, place, array_agg(id ORDER BY id),
        jsonb_build_object('backouts', array_agg(most))
    FROM forgotten GROUP BY uow, queue_id, place
)
SELECT count(*) FROM forgotten;
