-- Apply repairs to copies, in the transaction that created the copies.
--
-- The AMQP envelope is marked as repaired: from now on the columns take precedence.
--
-- Locks    the messages, which are not visible to others yet.
-- Index    broker_message_pkey
-- Returns  the number of messages.
WITH repaired AS (
    UPDATE broker_message AS message
    SET body = coalesce(wanted.body, message.body),
        content_type = coalesce(columns ->> 'content_type', message.content_type),
        subject = CASE WHEN columns ? 'subject' THEN columns ->> 'subject'
            ELSE message.subject END,
        correlation_id = CASE WHEN columns ? 'correlation_id'
            THEN columns ->> 'correlation_id' ELSE message.correlation_id END,
        reply_to = CASE WHEN columns ? 'reply_to' THEN columns ->> 'reply_to'
            ELSE message.reply_to END,
        group_id = CASE WHEN columns ? 'group_id' THEN columns ->> 'group_id'
            ELSE message.group_id END,
        properties = message.properties
            - ARRAY(SELECT jsonb_array_elements_text(wanted.gone)) || wanted.added,
        envelope = set_byte(envelope, 0, get_byte(envelope, 0) | %(repaired)s::integer)
    FROM unnest(%(ids)b::bigint[], %(bodies)b::bytea[], %(columns)b::jsonb[],
            %(added)b::jsonb[], %(gone)b::jsonb[]) AS wanted (
            id, body, columns, added, gone)
    WHERE message.id = wanted.id AND message.id = ANY (%(ids)b::bigint[])
    RETURNING 1
)
SELECT count(*) FROM repaired;
