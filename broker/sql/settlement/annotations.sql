-- Read the annotations of entries of one queue.
--
-- Locks    none.
-- Index    broker_annotations_pkey
-- Returns  the message id and the annotations of each entry that has any.
SELECT message_id, annotations FROM broker_annotations
WHERE message_id = ANY (%(ids)b::bigint[]) AND queue_id = %(queue_id)s::integer;
