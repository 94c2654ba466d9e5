-- Compute the digest of the set of an operation: the queue, message and target of each
-- item that is not left out, in order.
--
-- Locks    none.
-- Index    broker_item_next
-- Returns  the digest, hexadecimal.
SELECT encode(
    sha256(
        convert_to(
            coalesce(
                string_agg(
                    item.queue_id || ':' || item.message_id || ':'
                    || octet_length(convert_to(item.target, 'UTF8')) || ':'
                    || item.target || ',',
                    '' ORDER BY item.id
                ),
                ''
            ),
            'UTF8'
        )
    ),
    'hex'
)
FROM broker_operationitem AS item
WHERE item.operation_id = %(operation_id)s AND item.status <> 'left_out'
