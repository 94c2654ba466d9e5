-- Find all ids of messages: of their first originals and of all copies. An id that no
-- message has is its own original.
--
-- Locks    none: it only reads.
-- Index    broker_message_pkey, broker_message_first_id
-- Returns  a given id, an id of the same message.
WITH named AS MATERIALIZED (
    SELECT id, coalesce((
        SELECT first_id FROM broker_message WHERE broker_message.id = named.id
    ), id) AS first_id
    FROM unnest(%(ids)b::bigint[]) AS named (id)
)
SELECT id, first_id FROM named
UNION ALL
SELECT named.id, copy.id FROM named, LATERAL (
    SELECT id FROM broker_message
    WHERE first_id = named.first_id AND broker_message.id > named.first_id OFFSET 0
) AS copy;
