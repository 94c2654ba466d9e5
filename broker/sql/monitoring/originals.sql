-- Find the first originals of messages, over copies of copies. An original is named even
-- if its row is gone; a message that is no copy is not returned.
--
-- Locks    none: it only reads.
-- Index    broker_message_pkey
-- Returns  message, first original.
SELECT id, first_id FROM broker_message
WHERE id = ANY (%(ids)b::bigint[]) AND first_id IS NOT NULL;
