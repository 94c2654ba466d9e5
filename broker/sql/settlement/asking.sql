-- Find the messages that request reports.
--
-- Locks    none.
-- Index    broker_message_pkey
-- Returns  the ids of these messages.
SELECT id FROM broker_message
WHERE id = ANY (%(ids)b::bigint[]) AND descriptor ? 'report';
