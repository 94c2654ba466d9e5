-- Create the items of an undo from the processed items of an operation.
--
-- Order    of the items.
-- Locks    none.
-- Index    broker_item_next
-- Returns  the number of items.
WITH planned AS (
    INSERT INTO broker_operationitem (operation_id, queue_id, message_id, target,
        copy_id, came_from, priority, backout_count, delivery_count, due_at, expires_at)
    SELECT %(operation_id)s::bigint, queue_id, message_id, target, copy_id, came_from,
        priority, backout_count, delivery_count, due_at, expires_at
    FROM broker_operationitem
    WHERE operation_id = %(undoes)s::bigint AND status = 'done'
    ORDER BY id
    RETURNING id
)
SELECT count(*) FROM planned;
