-- Find items of an operation whose copies have no known outcome.
--
-- A range over the whole index, as in next_items.sql.
--
-- Order    of the items.
-- Locks    none.
-- Index    broker_item_next
-- Returns  the fields of broker.operations.items.Item.
SELECT id, queue_id, message_id, target, copy_id, priority, backout_count,
    delivery_count, due_at, expires_at
FROM broker_operationitem
WHERE (operation_id, status, id) > (%(operation_id)s::bigint, 'done', %(after)s::bigint)
  AND (operation_id, status) <= (%(operation_id)s::bigint, 'done')
  AND fate IS NULL AND copy_id IS NOT NULL
ORDER BY operation_id, status, id
LIMIT %(limit)s::bigint;
