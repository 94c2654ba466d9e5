-- Add journal events for the messages that a link transferred in a batch: one for each
-- queue and role.
--
-- Entries do not change their place: came_from equals went_to. The lists in the detail
-- are parallel to the ids, which ascend.
--
-- Locks    none.
-- Index    none; it only inserts.
-- Returns  the number of messages of each event.
INSERT INTO broker_event (at, queue_id, n, kind, came_from, went_to, actor, ids, detail)
SELECT coalesce(%(now)s::timestamptz, statement_timestamp()), queue_id,
    cardinality(ids::bigint[]), 19, place, place, %(actor)s::text, ids::bigint[], detail
FROM unnest(%(queue_ids)b::integer[], %(places)b::smallint[], %(id_lists)b::text[],
    %(details)b::jsonb[]) AS event (queue_id, place, ids, detail)
RETURNING n;
