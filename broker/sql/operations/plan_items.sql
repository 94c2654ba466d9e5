-- Create the items of an operation: entries found by queue, by messages or as dead letters,
-- filtered by the other conditions. For a resubmit, only entries whose origin queue exists.
--
-- Order    of arrival.
-- Locks    none.
-- Index    broker_ready_pkey, broker_delayed_queue, broker_message_pkey
-- Returns  the number of items, including those left out.
WITH lanes AS MATERIALIZED (
    SELECT queue.id::integer AS queue_id, number::smallint AS priority
    FROM broker_queue AS queue, generate_series(0, 9) AS number
    WHERE queue.id = coalesce(%(on_queue)s::integer, queue.id::integer)
      AND (SELECT true FROM broker_ready
        WHERE queue_id = queue.id::integer AND priority = number::smallint
        ORDER BY pos DESC LIMIT 1)
),
found AS (
    SELECT queue_id, id FROM broker_ready
    WHERE %(by)s::text = 'queue' AND %(ready)s::boolean AND queue_id = %(on_queue)s::integer
    UNION ALL
    SELECT queue_id, id FROM broker_delayed
    WHERE queue_id = %(on_queue)s::integer AND %(by)s::text = 'queue' AND %(delayed)s::boolean
    UNION ALL
    SELECT ready.queue_id, ready.id
    FROM unnest(%(ids)b::bigint[]) AS named (id), lanes, LATERAL (
        SELECT queue_id, id FROM broker_ready
        WHERE queue_id = lanes.queue_id AND priority = lanes.priority
          AND pos = ANY (ARRAY[named.id, named.id - 4611686018427387904])) AS ready
    WHERE %(by)s::text = 'ids' AND %(ready)s::boolean
    UNION ALL
    SELECT queue_id, id FROM broker_delayed
    WHERE id = ANY (%(ids)b::bigint[]) AND %(by)s::text = 'ids' AND %(delayed)s::boolean
      AND queue_id = coalesce(%(on_queue)s::integer, queue_id)
    UNION ALL
    SELECT ready.* FROM broker_dead_letter AS dead
    JOIN lanes ON lanes.queue_id = dead.queue_id, LATERAL (
        SELECT queue_id, id FROM broker_ready
        WHERE queue_id = dead.queue_id AND priority = lanes.priority
          AND pos = ANY (ARRAY[dead.message_id, dead.message_id - 4611686018427387904])
        LIMIT 1) AS ready
    WHERE %(by)s::text = 'letters' AND %(ready)s::boolean
      AND dead.fingerprint = coalesce(%(fingerprint)s::text, dead.fingerprint)
      AND dead.origin_queue = coalesce(%(origin_queue)s::text, dead.origin_queue)
      AND dead.cause = coalesce(%(cause)s::text, dead.cause)
      AND dead.queue_id = coalesce(%(queue_id)s::integer, dead.queue_id)
      AND dead.queue_id = coalesce(%(on_queue)s::integer, dead.queue_id)
      AND (%(within)s::integer[] IS NULL OR dead.queue_id = ANY (%(within)s::integer[]))
      AND (%(ids)b::bigint[] = '{}' OR dead.message_id = ANY (%(ids)b::bigint[]))
),
planned AS (
    INSERT INTO broker_operationitem (operation_id, queue_id, message_id, target, status)
    SELECT %(operation_id)s::bigint, found.queue_id, found.id, home.name,
        CASE WHEN home.is_above THEN 'left_out' ELSE 'planned' END
    FROM found LEFT JOIN broker_dead_letter AS dead ON %(resubmits)s::boolean
        AND dead.message_id = found.id AND dead.queue_id = found.queue_id,
    LATERAL (
        SELECT %(target)s::text, false WHERE NOT %(resubmits)s::boolean
        UNION ALL
        SELECT name, max_resubmits BETWEEN 1 AND coalesce(dead.resubmit_count, (
            SELECT substring(properties ->> '_BRK_RESUBMIT_COUNT' FROM '^[0-9]{1,6}$')::integer
            FROM broker_message WHERE id = found.id LIMIT 1)) FROM broker_queue
        WHERE %(resubmits)s::boolean AND name = coalesce(dead.origin_queue, (
            SELECT properties ->> '_AMQ_ORIG_QUEUE' FROM broker_message
            WHERE id = found.id AND properties ? '_AMQ_ORIG_ADDRESS' LIMIT 1))
    ) AS home (name, is_above)
    ORDER BY found.id, found.queue_id RETURNING id
)
SELECT count(*) FROM planned;
