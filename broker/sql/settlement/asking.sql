-- Find the messages that request reports.
--
-- Locks    none.
-- Index    broker_message_pkey
-- Returns  their ids.
SELECT id FROM broker_message
WHERE id = ANY (%(ids)b::bigint[]) AND descriptor ? 'report';
