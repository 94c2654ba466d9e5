-- Create the items of a plan from items of another operation: of an undo from those that
-- were processed, of a new plan for the rest from those that were not.
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
    WHERE operation_id = %(source)s::bigint AND status = %(status)s
    ORDER BY id
    RETURNING id
)
SELECT count(*) FROM planned;
