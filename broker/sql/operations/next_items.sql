-- Find the next items of an operation that are not processed yet.
--
-- The condition is a range over the whole index, not equality of columns: with equality
-- the planner may scan all items of all operations by id, in the hope of an early end.
--
-- Order    of the items.
-- Locks    none.
-- Index    broker_item_next
-- Returns  the fields of broker.operations.items.Item.
SELECT id, queue_id, message_id, target, copy_id, priority, backout_count,
    delivery_count, due_at, expires_at
FROM broker_operationitem
WHERE (operation_id, status, id) > (%(operation_id)s::bigint, 'planned', %(after)s::bigint)
  AND (operation_id, status) <= (%(operation_id)s::bigint, 'planned')
ORDER BY operation_id, status, id
LIMIT %(limit)s::bigint;
