-- Put entries on their queues as given: ready, before all new entries, or delayed.
--
-- Order    the position of a ready entry is its id less 2^62: before new entries, and in
--          the original order among returned ones.
-- Locks    none.
-- Index    none; it inserts entries that its caller has taken.
-- Returns  the queues with ready entries.
WITH entry AS MATERIALIZED (
    SELECT given.*, coalesce(%(now)s::timestamptz, statement_timestamp()) AS at
    FROM unnest(%(queue_ids)b::integer[], %(ids)b::bigint[], %(priorities)b::smallint[],
            %(backout_counts)b::integer[], %(delivery_counts)b::integer[],
            %(expiries)b::timestamptz[], %(dues)b::timestamptz[]) AS given (
            queue_id, id, priority, backout_count, delivery_count, expires_at, due_at)
),
ready AS (
    INSERT INTO broker_ready (queue_id, priority, pos, id, backout_count,
        delivery_count, expires_at)
    SELECT queue_id, priority, id - 4611686018427387904, id, backout_count,
        delivery_count, expires_at
    FROM entry WHERE due_at IS NULL
),
delayed AS (
    INSERT INTO broker_delayed (due_at, id, queue_id, priority, backout_count,
        delivery_count, expires_at)
    SELECT due_at, id, queue_id, priority, backout_count, delivery_count, expires_at
    FROM entry WHERE due_at IS NOT NULL
),
journal AS (
    INSERT INTO broker_event (at, queue_id, n, kind, came_from, went_to, actor, ids, detail)
    SELECT at, queue_id, count(*), %(kind)s::smallint, %(came_from)s::smallint,
        CASE WHEN due_at IS NULL THEN 1 ELSE 3 END, %(actor)s::text,
        array_agg(id ORDER BY id),
        %(detail)s::jsonb
        || jsonb_build_object('backouts', array_agg(backout_count ORDER BY id))
        || CASE WHEN due_at IS NULL THEN '{}'::jsonb
           ELSE jsonb_build_object('due_at', array_agg(due_at ORDER BY id)) END
    FROM entry GROUP BY at, queue_id, due_at IS NULL
)
SELECT DISTINCT queue_id FROM entry WHERE due_at IS NULL;
