-- Take all but so many out of a plan: the first are kept, or any.
--
-- Locks    the items.
-- Index    broker_item_next, broker_operationitem_pkey
-- Returns  how many were taken out.
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
