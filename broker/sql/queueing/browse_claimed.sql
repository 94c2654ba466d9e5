-- List the claimed entries of one queue.
--
-- Order    id; after a cursor.
-- Locks    none: it only reads.
-- Index    none: claims are few, one row for each get.
-- Returns  the fields of broker.queueing.browse.Browsed.
SELECT held.id, 2, held.priority, held.id, held.backout_count, held.deadline,
    held.expires_at, held.uow, message.put_at, message.content_type, message.subject,
    message.producer, octet_length(message.body), substring(message.body for 160),
    message.descriptor, substring(message.headers for 4096)
FROM (
    SELECT entry.*, claim.uow, work.deadline
    FROM broker_claim AS claim
    JOIN broker_unit_of_work AS work ON work.id = claim.uow,
    unnest(claim.ids, claim.priorities, claim.backout_counts, claim.expiries) AS entry (
        id, priority, backout_count, expires_at)
    WHERE claim.queue_id = %(queue_id)s::integer AND entry.id > %(id)s::bigint
    ORDER BY entry.id
    LIMIT %(limit)s::bigint
) AS held
CROSS JOIN LATERAL (
    -- One index lookup for each entry, whatever the planner estimates.
    SELECT * FROM broker_message WHERE id = held.id OFFSET 0
) AS message
ORDER BY held.id;
