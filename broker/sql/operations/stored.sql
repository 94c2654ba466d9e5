-- Find which of some messages are still stored.
--
-- Locks    none.
-- Index    broker_message_pkey
-- Returns  the ids of the messages that are stored.
SELECT named.id FROM unnest(%(ids)b::bigint[]) AS named (id)
WHERE (SELECT true FROM broker_message WHERE id = named.id);
