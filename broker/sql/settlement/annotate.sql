-- Combine annotations with those that entries have; a new value replaces one of the same
-- name.
--
-- Locks    the rows, until the caller's transaction ends.
-- Index    broker_annotations_pkey
-- Returns  the messages that have them now: not those whose annotations would be larger
--          than ``most`` bytes in all, which keep those they had.
INSERT INTO broker_annotations AS had (message_id, queue_id, annotations)
SELECT id, queue_id, %(annotations)s::jsonb
FROM unnest(%(ids)b::bigint[], %(queue_ids)b::integer[]) AS entry (id, queue_id)
WHERE octet_length(%(annotations)s::jsonb::text) <= %(most)s::integer
ON CONFLICT (message_id, queue_id)
DO UPDATE SET annotations = had.annotations || excluded.annotations
WHERE octet_length((had.annotations || excluded.annotations)::text) <= %(most)s::integer
RETURNING message_id;
