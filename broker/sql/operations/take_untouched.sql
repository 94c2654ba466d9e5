-- Take entries that are unchanged since they were put: all entries of an item, or none.
--
-- Order    by id.
-- Locks    the entries; entries locked by another transaction are skipped.
-- Index    broker_ready_pkey, broker_delayed_pkey
-- Returns  the fields of broker.operations.items.Taken.
WITH own AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at
),
wanted AS MATERIALIZED (
    SELECT *, count(*) OVER (PARTITION BY item_id) AS parts
    FROM unnest(%(item_ids)b::bigint[], %(queue_ids)b::integer[], %(ids)b::bigint[],
            %(priorities)b::smallint[], %(delivery_counts)b::integer[]) AS given (
            item_id, queue_id, id, priority, delivery_count)
),
ready AS MATERIALIZED (
    SELECT item_id, parts, found.ctid AS place FROM wanted, LATERAL (
        SELECT entry.ctid FROM broker_ready AS entry
        WHERE entry.queue_id = wanted.queue_id AND entry.priority = wanted.priority
          AND entry.pos = ANY (ARRAY[wanted.id, wanted.id - 4611686018427387904])
          AND entry.delivery_count = wanted.delivery_count
          AND (entry.expires_at IS NULL OR entry.expires_at > (SELECT at FROM own))
        FOR UPDATE SKIP LOCKED
    ) AS found
),
delayed AS MATERIALIZED (
    SELECT item_id, parts, found.ctid AS place FROM wanted, LATERAL (
        SELECT entry.ctid FROM broker_delayed AS entry
        WHERE entry.id = wanted.id AND entry.queue_id = wanted.queue_id
          AND entry.priority = wanted.priority
          AND entry.delivery_count = wanted.delivery_count
          AND (entry.expires_at IS NULL OR entry.expires_at > (SELECT at FROM own))
        FOR UPDATE SKIP LOCKED
    ) AS found
    WHERE %(delayed_too)s::boolean
),
whole AS MATERIALIZED (
    SELECT item_id FROM (SELECT * FROM ready UNION ALL SELECT * FROM delayed) AS parts
    GROUP BY item_id, parts HAVING count(*) = parts
),
was_ready AS (
    DELETE FROM broker_ready WHERE ctid = ANY (ARRAY(
        SELECT place FROM ready JOIN whole USING (item_id)))
    RETURNING queue_id, id, priority, backout_count, delivery_count, expires_at
),
was_delayed AS (
    DELETE FROM broker_delayed WHERE ctid = ANY (ARRAY(
        SELECT place FROM delayed JOIN whole USING (item_id)))
    RETURNING queue_id, id, priority, backout_count, delivery_count, expires_at, due_at
)
SELECT queue_id, id, priority, backout_count, delivery_count, expires_at, false,
    NULL::timestamptz FROM was_ready
UNION ALL
SELECT queue_id, id, priority, backout_count, delivery_count, expires_at, false, due_at
FROM was_delayed
ORDER BY id;
