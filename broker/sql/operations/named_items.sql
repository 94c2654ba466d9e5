-- Find items by id that are not processed yet.
--
-- Order    of the items.
-- Locks    none.
-- Index    broker_operationitem_pkey
-- Returns  the fields of broker.operations.items.Item.
SELECT id, queue_id, message_id, target, copy_id, priority, backout_count,
    delivery_count, due_at, expires_at
FROM broker_operationitem
WHERE id = ANY (%(ids)b::bigint[]) AND status = 'planned'
ORDER BY id
LIMIT %(limit)s::bigint;
