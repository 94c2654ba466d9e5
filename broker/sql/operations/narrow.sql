-- Limit a plan to a number of items: the first, or a random sample.
--
-- Locks    the items.
-- Index    broker_item_next, broker_operationitem_pkey
-- Returns  the number of removed items.
WITH unwanted AS MATERIALIZED (
    SELECT id FROM broker_operationitem
    WHERE (operation_id, status) >= (%(operation_id)s::bigint, 'planned')
      AND (operation_id, status) <= (%(operation_id)s::bigint, 'planned')
    ORDER BY CASE WHEN %(sampled)s::boolean THEN random() ELSE 0 END, id
    OFFSET %(limit)s::bigint
),
gone AS (
    DELETE FROM broker_operationitem USING unwanted
    WHERE broker_operationitem.id = unwanted.id RETURNING 1
)
SELECT count(*) FROM gone;
