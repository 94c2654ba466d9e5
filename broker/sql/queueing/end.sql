-- Add journal events for entries that leave their queues; the caller has taken them.
--
-- Locks    none.
-- Index    none; it only inserts.
-- Returns  the number of entries.
WITH journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, actor, ids, detail)
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()), %(uow)s::bigint, queue_id, count(*),
        %(kind)s::smallint, %(came_from)s::smallint, %(actor)s::text, array_agg(id ORDER BY id), %(detail)s::jsonb
    FROM unnest(%(queue_ids)b::integer[], %(ids)b::bigint[]) AS entry (queue_id, id)
    GROUP BY queue_id
    RETURNING n
)
SELECT coalesce(sum(n), 0) FROM journal;
