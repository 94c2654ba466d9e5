-- Leave notices of links out of a plan: the target has their messages, or may have them, or
-- their link sends them.
--
-- Locks    the items.
-- Index    broker_item_next, broker_dead_letter_pkey, broker_message_pkey
-- Returns  the number of items left out.
WITH found AS (
    UPDATE broker_operationitem AS item SET status = 'left_out', note = 'notice'
    WHERE item.operation_id = %(operation_id)s::bigint AND EXISTS (
            SELECT FROM broker_dead_letter AS dead
            WHERE dead.message_id = item.message_id AND dead.queue_id = item.queue_id
              AND dead.cause = 'LINK')
      AND EXISTS (
            SELECT FROM broker_message AS message
            WHERE message.id = item.message_id AND (properties ? '_BRK_LINK_NOTICE'
                OR properties ->> 'JMS_SUN_JMSBRIDGE_DMQ_REASON' = ANY (
                    %(notices)s::text[])))
    RETURNING item.id
)
SELECT count(*) FROM found;
