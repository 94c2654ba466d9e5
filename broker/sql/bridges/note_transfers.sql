-- Write in the journal what a link did with the messages of a batch: an event for each
-- queue and role.
--
-- Entries do not move by it: they come from where they go. The lists of its detail run in
-- step with the ids, which ascend.
--
-- Locks    none.
-- Index    none; it only inserts.
-- Returns  how many messages each event is about.
INSERT INTO broker_event (at, queue_id, n, kind, came_from, went_to, actor, ids, detail)
SELECT coalesce(%(now)s::timestamptz, statement_timestamp()), queue_id,
    cardinality(ids::bigint[]), 19, place, place, %(actor)s::text, ids::bigint[], detail
FROM unnest(%(queue_ids)b::integer[], %(places)b::smallint[], %(id_lists)b::text[],
    %(details)b::jsonb[]) AS event (queue_id, place, ids, detail)
RETURNING n;
