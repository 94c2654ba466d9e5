-- Read one entry that a unit of work holds, as it was delivered.
--
-- Locks    none: its caller has locked the unit of work.
-- Index    broker_claim_pkey, broker_message_pkey
-- Returns  the fields of broker.queueing.get.Delivery. The position in the lane is unknown;
--          the id is used instead. No row if the unit of work does not hold the entry.
SELECT claim.uow, claim.queue_id, entry.id, entry.backout_count, entry.delivery_count,
    entry.priority, message.address, message.body, message.content_type,
    message.properties, message.message_id, message.correlation_id, message.reply_to,
    message.subject, message.group_id, message.producer, message.put_at,
    entry.expires_at, entry.id, message.durable, message.descriptor, message.headers, message.envelope
FROM broker_claim AS claim,
    unnest(claim.ids, claim.priorities, claim.backout_counts, claim.delivery_counts,
        claim.expiries) AS entry (
        id, priority, backout_count, delivery_count, expires_at),
    broker_message AS message
WHERE claim.uow = %(uow)s::bigint AND claim.queue_id = %(queue_id)s::integer
  AND %(message_id)s::bigint = ANY (claim.ids)
  AND entry.id = %(message_id)s::bigint AND message.id = %(message_id)s::bigint;
