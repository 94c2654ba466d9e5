-- Choose the items of a canary: the oldest and the newest message, then one message of
-- each error, and of each shape of message, up to a limit. Shapes are read from the first
-- items of each error and from about a thousand others. Among equal messages the choice
-- is arbitrary.
--
-- Order    the oldest and the newest first, then one of each error, then by shape.
-- Locks    none.
-- Index    broker_item_next, broker_dead_letter_pkey, broker_message_pkey
-- Returns  the ids of the items.
WITH item AS MATERIALIZED (
    SELECT item.id, item.message_id, item.queue_id, item.target, dead.fingerprint,
        item.message_id IN (min(item.message_id) OVER (), max(item.message_id) OVER ())
            AS is_end,
        row_number() OVER (PARTITION BY dead.fingerprint ORDER BY item.id) AS turn,
        row_number() OVER (ORDER BY item.id) %%
            (1 + count(*) OVER () / 1000) = 0 AS is_seen
    FROM broker_operationitem AS item
    LEFT JOIN LATERAL (
        SELECT fingerprint FROM broker_dead_letter
        WHERE message_id = item.message_id AND queue_id = item.queue_id LIMIT 1
    ) AS dead ON true
    WHERE (item.operation_id, item.status) >= (%(operation_id)s::bigint, 'planned')
      AND (item.operation_id, item.status) <= (%(operation_id)s::bigint, 'planned')
),
ranked AS (
    SELECT item.*, row_number() OVER (PARTITION BY queue_id, target, fingerprint,
        address, subject, content_type, magnitude ORDER BY hashint8(item.id)) AS turn_of_shape
    FROM item, LATERAL (
        SELECT address, subject, content_type,
            ceil(log(2, 1 + octet_length(body)::numeric)) AS magnitude
        FROM broker_message WHERE id = item.message_id LIMIT 1
    ) AS shape
    WHERE is_end OR is_seen OR turn <= 3
)
SELECT id FROM ranked
ORDER BY is_end DESC, turn = 1 DESC, turn_of_shape, turn, id
LIMIT %(limit)s::bigint;
