-- Name the messages that have one id of their sender, between two numbers.
--
-- That id has no index, so that a put has nothing more to write: all between are read.
--
-- Order    the newest first.
-- Locks    none: looking changes nothing.
-- Index    broker_message_pkey
-- Returns  their numbers.
SELECT id FROM broker_message
WHERE id > %(after)s::bigint AND id <= %(before)s::bigint
  AND message_id = %(client_message_id)s::text
ORDER BY id DESC
LIMIT %(limit)s::bigint;
