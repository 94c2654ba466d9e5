-- The digest of the frozen set of an operation: every item that is not left out of its
-- plan, in order, with the queue
-- where it lies, its message, and where it goes.
-- Index  broker_item_next
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
