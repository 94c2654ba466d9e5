-- Find the messages with a sender's id, between two numbers.
--
-- This id has no index, to keep puts cheap: all messages between the two numbers are read.
--
-- Order    the newest first.
-- Locks    none: it only reads.
-- Index    broker_message_pkey
-- Returns  the numbers of the messages.
SELECT id FROM broker_message
WHERE id > %(after)s::bigint AND id <= %(before)s::bigint
  AND message_id = %(client_message_id)s::text
ORDER BY id DESC
LIMIT %(limit)s::bigint;
