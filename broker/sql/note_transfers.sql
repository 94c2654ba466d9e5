-- Write in the journal what a link did with messages that this broker has.
--
-- Entries do not move by it: they come from where they go. The ids of an event ascend,
-- and the arrays of its detail run in step with them.
--
-- Locks    none.
-- Index    none; it only inserts.
-- Returns  how many messages.
WITH told AS (
    SELECT * FROM unnest(%(queue_ids)b::integer[], %(ids)b::bigint[],
        %(places)b::smallint[], %(roles)b::text[], %(counted)b::boolean[],
        %(outcomes)b::text[], %(others)b::text[], %(copies)b::bigint[],
        %(latencies_ms)b::bigint[], %(transformed)b::boolean[])
        AS entry (queue_id, id, place, role, counted, outcome, other, copy, latency_ms,
            transformed)
),
journal AS (
    INSERT INTO broker_event (at, queue_id, n, kind, came_from, went_to, actor, ids, detail)
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()), queue_id, count(*), 19,
        place, place, %(actor)s::text, array_agg(id ORDER BY id),
        %(detail)s::jsonb || jsonb_build_object('role', role, 'counted', counted,
            'outcomes', jsonb_agg(outcome ORDER BY id),
            'others', jsonb_agg(other ORDER BY id),
            'latencies_ms', jsonb_agg(latency_ms ORDER BY id),
            'transformed', jsonb_agg(transformed ORDER BY id))
        || CASE WHEN count(copy) = count(*)
            THEN jsonb_build_object('copies', jsonb_agg(copy ORDER BY id)) ELSE '{}' END
    FROM told GROUP BY queue_id, place, role, counted, copy IS NULL
    RETURNING n
)
SELECT coalesce(sum(n), 0) FROM journal;
