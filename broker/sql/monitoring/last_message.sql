-- Find the last message that was put.
--
-- Locks    none: it only reads.
-- Index    broker_message_pkey
-- Returns  the id of the message; 0 if there is none.
SELECT coalesce((SELECT id FROM broker_message ORDER BY id DESC LIMIT 1), 0);
