-- Cut the header off the bodies of copies, in the transaction that created the copies.
--
-- The AMQP envelope is marked as repaired: from now on the columns take precedence.
--
-- Locks    the messages, which are not visible to others yet.
-- Index    broker_message_pkey
-- Returns  the number of messages.
WITH cut AS (
    UPDATE broker_message
    SET body = substring(body FROM %(size)s::integer + 1),
        envelope = set_byte(envelope, 0, get_byte(envelope, 0) | %(repaired)s::integer)
    WHERE id = ANY (%(ids)b::bigint[])
    RETURNING 1
)
SELECT count(*) FROM cut;
