-- Store the ids of messages that a link transfers into this broker.
--
-- Locks    the ids: a concurrent transfer of the same message waits.
-- Index    none; it only inserts.
-- Returns  the ids that were not stored yet.
INSERT INTO broker_seenmessage (link_id, message_id, seen_at)
SELECT %(link_id)s::bigint, id, coalesce(%(now)s::timestamptz, statement_timestamp())
FROM unnest(%(ids)b::text[]) AS known (id)
ON CONFLICT (link_id, message_id) DO NOTHING
RETURNING message_id;
