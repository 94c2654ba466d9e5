-- Write in the journal what a link did with messages of one queue.
--
-- Entries do not move by it: they come from where they go. The lists of its detail run in
-- step with the ids, which ascend.
--
-- Locks    none.
-- Index    none; it only inserts.
-- Returns  how many messages.
INSERT INTO broker_event (at, queue_id, n, kind, came_from, went_to, actor, ids, detail)
VALUES (coalesce(%(now)s::timestamptz, statement_timestamp()), %(queue_id)s::integer,
    %(n)s::integer, 19, %(place)s::smallint, %(place)s::smallint, %(actor)s::text,
    %(ids)s::text::bigint[], %(detail)s::jsonb)
RETURNING n;
