-- Store in the ledger that items were processed, and their entries as they were before.
--
-- An array may be cut to its first value if all are equal. An array without values is NULL;
-- then the ledger keeps its values.
--
-- Locks    the items.
-- Index    broker_operationitem_pkey
-- Returns  the number of items.
WITH noted AS (
    UPDATE broker_operationitem AS item
    SET status = 'done', note = '',
        copy_id = coalesce(became.copy_id, item.copy_id),
        came_from = coalesce(became.came_from, (%(places)b::smallint[])[1], item.came_from),
        priority = coalesce(became.priority, (%(priorities)b::smallint[])[1], item.priority),
        backout_count = coalesce(became.backout_count, (%(backout_counts)b::integer[])[1],
            item.backout_count),
        delivery_count = coalesce(became.delivery_count, (%(delivery_counts)b::integer[])[1],
            item.delivery_count),
        due_at = coalesce(became.due_at, item.due_at),
        expires_at = coalesce(became.expires_at, item.expires_at)
    FROM unnest(%(ids)b::bigint[], %(copies)b::bigint[], %(places)b::smallint[],
            %(priorities)b::smallint[], %(backout_counts)b::integer[],
            %(delivery_counts)b::integer[], %(dues)b::timestamptz[],
            %(expiries)b::timestamptz[]) AS became (
            id, copy_id, came_from, priority, backout_count, delivery_count, due_at,
            expires_at)
    WHERE item.id = became.id
    RETURNING 1
)
SELECT count(*) FROM noted;
