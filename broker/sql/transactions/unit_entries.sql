-- List the entries that a unit of work holds.
--
-- Order    by message, then queue.
-- Locks    none: it only reads.
-- Index    broker_claim_pkey, broker_message_pkey
-- Returns  the fields of broker.transactions.administration.HeldEntry: first those of
--          broker.queueing.transfer.TakenEntry, as in take_unit.sql.
SELECT claim.queue_id, entry.id, entry.priority, entry.backout_count,
    entry.delivery_count, entry.expires_at, coalesce(entry.expires_at
        <= coalesce(%(now)s::timestamptz, statement_timestamp()), false),
    claim.claimed_at, message.address, message.subject, message.content_type,
    octet_length(message.body)
FROM broker_claim AS claim, unnest(claim.ids, claim.priorities, claim.backout_counts,
    claim.delivery_counts, claim.expiries) AS entry (
    id, priority, backout_count, delivery_count, expires_at)
CROSS JOIN LATERAL (
    -- One index lookup for each entry, whatever the planner estimates.
    SELECT * FROM broker_message WHERE id = entry.id OFFSET 0
) AS message
WHERE claim.uow = %(uow)s::bigint
ORDER BY entry.id, claim.queue_id
LIMIT %(limit)s::bigint;
