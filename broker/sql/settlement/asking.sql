-- Say which messages ask for reports of any kind.
--
-- Locks    none.
-- Index    broker_message_pkey
-- Returns  their ids.
SELECT id FROM broker_message
WHERE id = ANY (%(ids)b::bigint[]) AND descriptor ? 'report';
