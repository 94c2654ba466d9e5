-- Find the last outcome of entries, by the journal.
--
-- Order    by queue and message.
-- Locks    none.
-- Index    broker_event_ids
-- Returns  queue, message, kind of event, the copy if there is one, and the error or ''.
SELECT DISTINCT ON (event.queue_id, named.id) event.queue_id, named.id, event.kind,
    (event.detail -> 'copies' ->> (array_position(event.ids, named.id) - 1))::bigint,
    coalesce(event.detail ->> 'error', '')
FROM broker_event AS event, unnest(event.ids) AS ended (id),
    unnest(%(ids)b::bigint[]) AS named (id)
WHERE event.ids[1] <= %(last_id)s::bigint
  AND event.ids[cardinality(event.ids)] >= %(first_id)s::bigint
  AND event.went_to IS NULL AND ended.id = named.id
ORDER BY event.queue_id, named.id, event.at DESC, event.seq DESC;
