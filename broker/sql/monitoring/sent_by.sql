-- Find the last operation with an event of this kind on any of some messages.
--
-- Locks    none.
-- Index    broker_event_ids
-- Returns  the operation; no row if there is none.
SELECT (event.detail ->> 'operation')::bigint
FROM broker_event AS event
WHERE event.ids[1] <= %(last_id)s::bigint
  AND event.ids[cardinality(event.ids)] >= %(first_id)s::bigint
  AND event.kind = %(kind)s::smallint AND event.ids && %(ids)b::bigint[]
  AND event.detail ? 'operation'
ORDER BY 1 DESC
LIMIT 1;
