-- Read the messages of deliveries outside the partitions that the get read.
--
-- Locks    none: their entries are in a claim.
-- Index    broker_message_pkey
-- Returns  the id of each message, and its fields of broker.queueing.get.Delivery.
SELECT message.id, message.address, message.body, message.content_type,
    message.properties, message.message_id, message.correlation_id, message.reply_to,
    message.subject, message.group_id, message.producer, message.put_at, message.durable,
    message.descriptor, message.headers, message.envelope
FROM unnest(%(ids)b::bigint[]) AS wanted (id), LATERAL (
    SELECT * FROM broker_message WHERE id = wanted.id OFFSET 0
) AS message;
