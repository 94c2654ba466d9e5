-- Sum the sizes of the bodies in a range of message numbers, of each at most 1 MiB. Bodies
-- are not read for this.
--
-- Locks    none.
-- Index    broker_message_pkey
-- Returns  the number of bytes.
SELECT coalesce(sum(least(octet_length(message.body), 1048576)), 0)::bigint
FROM broker_message AS message
WHERE message.id >= %(floor)s::bigint AND message.id < %(beyond)s::bigint
