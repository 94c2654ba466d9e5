-- Take some entries of one queue out of a unit of work, which stays open.
--
-- Locks    the unit of work, so that it does not end meanwhile.
-- Index    broker_unit_of_work_pkey, broker_claim_pkey
-- Returns  the fields of broker.queueing.transfer.TakenEntry, by id; without entries that
--          the unit of work no longer holds.
WITH unit AS MATERIALIZED (
    SELECT id FROM broker_unit_of_work WHERE id = %(uow)s::bigint FOR UPDATE
),
-- The rows are locked, so this reads their latest version.
claim AS MATERIALIZED (
    SELECT * FROM broker_claim
    WHERE uow = %(uow)s::bigint AND queue_id = %(queue_id)s::integer
      AND ids && %(ids)b::bigint[] AND EXISTS (SELECT FROM unit)
    ORDER BY claim_id FOR UPDATE
),
held AS MATERIALIZED (
    SELECT claim.claim_id, claim.queue_id, entry.*,
        entry.id = ANY (%(ids)b::bigint[]) AS goes
    FROM claim,
        unnest(claim.ids, claim.priorities, claim.backout_counts,
            claim.delivery_counts, claim.expiries) AS entry (
            id, priority, backout_count, delivery_count, expires_at)
),
rest AS (
    SELECT claim_id, array_agg(id) AS ids, array_agg(priority) AS priorities,
        array_agg(backout_count) AS backout_counts,
        array_agg(delivery_count) AS delivery_counts,
        array_agg(expires_at) AS expiries
    FROM held WHERE NOT goes GROUP BY claim_id
),
shrunk AS (
    UPDATE broker_claim AS claim
    SET ids = rest.ids, priorities = rest.priorities,
        backout_counts = rest.backout_counts,
        delivery_counts = rest.delivery_counts, expiries = rest.expiries
    FROM rest
    WHERE claim.uow = %(uow)s::bigint AND claim.claim_id = rest.claim_id
),
emptied AS (
    DELETE FROM broker_claim
    WHERE uow = %(uow)s::bigint
      AND claim_id IN (
          SELECT claim_id FROM held GROUP BY claim_id HAVING bool_and(goes))
)
SELECT queue_id, id, priority, backout_count, delivery_count, expires_at,
    coalesce(expires_at <= coalesce(%(now)s::timestamptz, statement_timestamp()), false)
FROM held WHERE goes ORDER BY id;
