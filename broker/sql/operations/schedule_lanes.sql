-- Count the items of an operation by stage (canary, ramp, rest), status and outcome.
--
-- Order    none.
-- Locks    none.
-- Index    broker_item_next
-- Returns  the number of the stage, from 0; status, outcome, number of items.
SELECT CASE WHEN first.id IS NOT NULL THEN 0
        WHEN item.id <= %(ramped_to)s::bigint THEN 1 ELSE 2 END,
    item.status, item.fate, count(*)
FROM broker_operationitem AS item
LEFT JOIN unnest(%(chosen)b::bigint[]) AS first (id) ON first.id = item.id
WHERE (item.operation_id, item.status) >= (%(operation_id)s::bigint, '')
  AND (item.operation_id, item.status) <= (%(operation_id)s::bigint, '~')
GROUP BY 1, 2, 3;
