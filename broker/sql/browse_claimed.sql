-- Show entries of one queue that are in the hands of consumers.
--
-- Order    id; from one on.
-- Locks    none: looking changes nothing.
-- Index    none: claims are few, and a row for each get.
-- Returns  the fields of broker.browse.Browsed.
SELECT held.id, 2, held.priority, held.id, held.backout_count, work.deadline,
    held.expires_at, claim.uow, message.put_at, message.content_type, message.subject,
    message.producer, octet_length(message.body), substring(message.body for 160)
FROM broker_claim AS claim
JOIN broker_unit_of_work AS work ON work.id = claim.uow,
unnest(claim.ids, claim.priorities, claim.backout_counts, claim.expiries) AS held (
    id, priority, backout_count, expires_at)
JOIN broker_message AS message ON message.id = held.id
WHERE claim.queue_id = %(queue_id)s::integer AND held.id > %(id)s::bigint
ORDER BY held.id
LIMIT %(limit)s::bigint;
