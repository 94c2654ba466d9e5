-- Write into the ledger what became of items, and the entries as they were before.
--
-- Locks    the items.
-- Index    broker_operationitem_pkey
-- Returns  how many.
WITH noted AS (
    UPDATE broker_operationitem AS item
    SET status = became.status, note = became.note,
        copy_id = coalesce(became.copy_id, item.copy_id),
        came_from = coalesce(became.came_from, item.came_from),
        priority = coalesce(became.priority, item.priority),
        backout_count = coalesce(became.backout_count, item.backout_count),
        delivery_count = coalesce(became.delivery_count, item.delivery_count),
        due_at = coalesce(became.due_at, item.due_at),
        expires_at = coalesce(became.expires_at, item.expires_at)
    FROM unnest(%(ids)b::bigint[], %(statuses)b::text[], %(notes)b::text[],
            %(copies)b::bigint[], %(places)b::smallint[], %(priorities)b::smallint[],
            %(backout_counts)b::integer[], %(delivery_counts)b::integer[],
            %(dues)b::timestamptz[], %(expiries)b::timestamptz[]) AS became (
            id, status, note, copy_id, came_from, priority, backout_count,
            delivery_count, due_at, expires_at)
    WHERE item.id = became.id
    RETURNING 1
)
SELECT count(*) FROM noted;
