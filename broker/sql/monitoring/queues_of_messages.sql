-- Find the queues that messages are or were on.
--
-- Locks    none: it only reads.
-- Index    broker_event_ids
-- Returns  message, queue; each pair once.
SELECT DISTINCT one.id, event.queue_id FROM unnest(%(ids)b::bigint[]) AS one (id), LATERAL (
    SELECT queue_id FROM broker_event
    WHERE ids[1] <= one.id AND ids[cardinality(ids)] >= one.id AND ids @> ARRAY[one.id]
    OFFSET 0
) AS event;
