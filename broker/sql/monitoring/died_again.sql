-- Count the messages that died, of some, by the journal.
--
-- Locks    none.
-- Index    broker_event_ids
-- Returns  their number.
SELECT count(DISTINCT named.id)
FROM broker_event AS event, unnest(event.ids) AS ended (id),
    unnest(%(ids)b::bigint[]) AS named (id)
WHERE event.ids[1] <= %(last_id)s::bigint
  AND event.ids[cardinality(event.ids)] >= %(first_id)s::bigint
  AND event.kind = %(kind)s::smallint AND ended.id = named.id;
