-- Find the consumers with which messages died, by the journal.
--
-- Order    the most frequent first.
-- Locks    none.
-- Index    broker_event_ids
-- Returns  the consumer, and the number of messages that it had when they died.
SELECT event.actor, count(DISTINCT named.id)
FROM broker_event AS event, unnest(event.ids) AS ended (id),
    unnest(%(ids)b::bigint[]) AS named (id)
WHERE event.ids[1] <= %(last_id)s::bigint
  AND event.ids[cardinality(event.ids)] >= %(first_id)s::bigint
  AND event.went_to IS NULL AND ended.id = named.id
GROUP BY event.actor
ORDER BY 2 DESC, 1;
