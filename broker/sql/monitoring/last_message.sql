-- Name the last message that was put.
--
-- Locks    none: looking changes nothing.
-- Index    broker_message_pkey
-- Returns  its id; 0 where there is none.
SELECT coalesce((SELECT id FROM broker_message ORDER BY id DESC LIMIT 1), 0);
