-- Take all entries out of a unit of work, and end it.
--
-- Locks    the unit of work: a second transaction that ends it finds it gone.
-- Index    broker_unit_of_work_pkey, broker_claim_pkey
-- Returns  the fields of broker.queueing.transfer.TakenEntry, by queue and id. The caller
--          places each entry in the same transaction.
WITH ended AS (
    DELETE FROM broker_unit_of_work WHERE id = %(uow)s::bigint RETURNING id
),
claim AS (
    DELETE FROM broker_claim
    WHERE uow = %(uow)s::bigint AND EXISTS (SELECT FROM ended)
    RETURNING *
)
SELECT claim.queue_id, held.*,
    coalesce(held.expires_at <= coalesce(%(now)s::timestamptz, statement_timestamp()), false)
FROM claim, unnest(claim.ids, claim.priorities, claim.backout_counts,
    claim.delivery_counts, claim.expiries) AS held (
    id, priority, backout_count, delivery_count, expires_at)
ORDER BY claim.queue_id, held.id;
