-- Create items of an operation for entries that were found. For a resubmit, only entries
-- whose origin queue exists; entries resubmitted as often as that queue allows get the
-- status left_out.
--
-- Order    of the given entries.
-- Locks    none.
-- Index    broker_dead_letter_pkey, broker_message_pkey
-- Returns  the number of items, including those left out.
WITH planned AS (
    INSERT INTO broker_operationitem (operation_id, queue_id, message_id, target, status)
    SELECT %(operation_id)s::bigint, found.queue_id, found.id, home.name,
        CASE WHEN home.is_above THEN 'left_out' ELSE 'planned' END
    FROM unnest(%(ids)b::bigint[], %(queue_ids)b::integer[])
        WITH ORDINALITY AS found (id, queue_id, number)
    LEFT JOIN LATERAL (
        SELECT origin_queue, resubmit_count FROM broker_dead_letter
        WHERE message_id = found.id AND queue_id = found.queue_id LIMIT 1
    ) AS dead ON %(resubmits)s::boolean,
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
    ORDER BY found.number
    RETURNING id
)
SELECT count(*) FROM planned;
