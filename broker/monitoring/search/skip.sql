-- Find the newest message in a range of numbers that meets the part of a condition that
-- needs no entry. Entries of newer messages in the range cannot match. The part in braces is
-- composed for each filter.
--
-- Locks    none.
-- Index    broker_message_pkey
-- Returns  the number of messages in the range, and the id of that message or null.
SELECT count(*), max(message.id) FILTER (WHERE {condition})
FROM broker_message AS message
WHERE message.id >= %(floor)s::bigint AND message.id < %(beyond)s::bigint
