-- Find the first originals of messages, over copies of copies. An original is named even
-- if its row is gone; a message that is no copy is not returned.
--
-- Locks    none: it only reads.
-- Index    broker_message_pkey
-- Returns  message, first original.
WITH RECURSIVE up AS (
    SELECT message.id, message.copied_from AS above, 1 AS steps
    FROM unnest(%(ids)b::bigint[]) AS named (id)
    JOIN broker_message AS message ON message.id = named.id
    WHERE message.copied_from IS NOT NULL
    UNION ALL
    SELECT up.id, message.copied_from, up.steps + 1
    FROM up JOIN broker_message AS message ON message.id = up.above
    WHERE message.copied_from IS NOT NULL AND up.steps < 1000
)
SELECT id, min(above) FROM up GROUP BY id;
