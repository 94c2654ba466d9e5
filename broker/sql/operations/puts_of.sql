-- Find the queues on which messages were put, by the journal.
--
-- Order    by message and queue.
-- Locks    none.
-- Index    broker_event_ids
-- Returns  message, queue.
SELECT named.id, event.queue_id
FROM broker_event AS event, unnest(event.ids) AS put (id),
    unnest(%(ids)b::bigint[]) AS named (id)
WHERE event.ids[1] <= %(last_id)s::bigint
  AND event.ids[cardinality(event.ids)] >= %(first_id)s::bigint
  AND event.kind = 1 AND put.id = named.id
ORDER BY 1, 2;
