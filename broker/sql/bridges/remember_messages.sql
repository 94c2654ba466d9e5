-- Keep the ids of messages that a link carries into this broker.
--
-- Locks    the ids: of two who carry the same message, one waits for the other.
-- Index    none; it only inserts.
-- Returns  those that were not known.
INSERT INTO broker_seenmessage (link_id, message_id, seen_at)
SELECT %(link_id)s::bigint, id, coalesce(%(now)s::timestamptz, statement_timestamp())
FROM unnest(%(ids)b::text[]) AS known (id)
ON CONFLICT (link_id, message_id) DO NOTHING
RETURNING message_id;
