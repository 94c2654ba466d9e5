-- Create the items of a plan from those items of an undone operation whose entries are
-- there: they were put back, or never sent. What was left out is left out again.
--
-- Order    of the items.
-- Locks    none.
-- Index    broker_item_next, broker_ready_pkey, broker_delayed_pkey
-- Returns  the number of items.
WITH undone AS MATERIALIZED (
    SELECT id, queue_id, message_id, target, status FROM broker_operationitem
    WHERE operation_id = %(source)s::bigint
),
lanes AS MATERIALIZED (
    SELECT queue.queue_id, number::smallint AS priority
    FROM (SELECT DISTINCT queue_id FROM undone) AS queue, generate_series(0, 9) AS number
    WHERE (SELECT true FROM broker_ready
        WHERE queue_id = queue.queue_id AND priority = number::smallint
        ORDER BY pos DESC LIMIT 1)
),
there AS MATERIALIZED (
    SELECT undone.id FROM undone JOIN lanes USING (queue_id), LATERAL (
        SELECT true FROM broker_ready AS ready
        WHERE ready.queue_id = undone.queue_id AND ready.priority = lanes.priority
          AND ready.pos = ANY (
            ARRAY[undone.message_id, undone.message_id - 4611686018427387904])
        LIMIT 1) AS entry
    UNION ALL
    SELECT undone.id FROM undone JOIN broker_delayed AS waiting
        ON waiting.id = undone.message_id AND waiting.queue_id = undone.queue_id
),
planned AS (
    INSERT INTO broker_operationitem (operation_id, queue_id, message_id, target, status)
    SELECT %(operation_id)s::bigint, queue_id, message_id, target,
        CASE status WHEN 'left_out' THEN 'left_out' ELSE 'planned' END
    FROM undone WHERE id IN (SELECT id FROM there)
    ORDER BY id
    RETURNING id
)
SELECT count(*) FROM planned;
