-- Return entries to their queues: ready, before all new entries, or delayed. They were taken
-- by this transaction; or they are all that an open unit of work holds, which ends here.
--
-- The journal event of a backout has the number of records that outlive a restart of the
-- broker: the count, and the end of a delay. There are none beyond a limit, and none of
-- messages that are not durable.
--
-- Order    the position of a returned entry is its id less 2^62: before new entries, and
--          in the original order among returned ones.
-- Locks    the unit of work that ends.
-- Index    broker_message_pkey, broker_unit_of_work_pkey, broker_claim_pkey,
--          broker_queue_pkey, broker_address_pkey
-- Returns  the queues with entries that became ready. If the unit of work has ended, holds
--          other entries or one that expired, or if the policy of a queue has changed
--          (broker.settlement.settings_cache), the statement fails with a division by zero.
WITH policy AS (
    SELECT (SELECT coalesce(md5(string_agg(xmin::text || ctid::text, ' ' ORDER BY ctid)), '')
            FROM broker_addresssetting)
        || coalesce(string_agg(concat_ws(' ', queue.id, backout_threshold, kind, name),
            E'\n' ORDER BY queue.id), '') AS text
    FROM (SELECT DISTINCT unnest(%(queue_ids)b::integer[]) AS id) AS named, LATERAL (
        SELECT queue.id, backout_threshold, kind, address.name
        FROM broker_queue AS queue JOIN broker_address AS address ON address.id = address_id
        WHERE queue.id = named.id OFFSET 0
    ) AS queue
),
failed AS (
    DELETE FROM broker_unit_of_work WHERE id = %(ended_uow)s::bigint RETURNING id
),
failed_claims AS (
    DELETE FROM broker_claim
    WHERE uow = %(ended_uow)s::bigint AND EXISTS (SELECT FROM failed)
    RETURNING queue_id, ids, delivery_counts, expiries
),
held AS (
    SELECT 1 / (%(ended_uow)s::bigint IS NULL OR (
        count(*) = cardinality(%(ids)b::bigint[]) AND count(*) = count(back.id)
        AND count(*) FILTER (WHERE expires_at
            <= coalesce(%(now)s::timestamptz, statement_timestamp())) = 0
        AND (SELECT text FROM policy) IS NOT DISTINCT FROM %(policy)s::text
    ))::integer AS are_these
    FROM failed_claims CROSS JOIN unnest(ids, delivery_counts, expiries)
        AS was (id, delivery_count, expires_at)
    LEFT JOIN unnest(%(queue_ids)b::integer[], %(ids)b::bigint[], %(delivery_counts)b::integer[])
        AS back (queue_id, id, delivery_count) USING (queue_id, id, delivery_count)
),
entry AS MATERIALIZED (
    SELECT back.*, own.at,
        own.at + nullif(back.delay_ms, 0) * interval '1 millisecond' AS due_at,
        CASE WHEN %(kind)s::smallint <> 4 THEN NULL
            WHEN backout_count > nullif(%(most_records)s::integer, -1) THEN 0
            WHEN NOT (SELECT durable FROM broker_message WHERE id = back.id
                AND id BETWEEN %(first_id)s::bigint AND %(last_id)s::bigint) THEN 0
            WHEN back.delay_ms = 0 THEN 1 ELSE 2 END AS records
    FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at) AS own,
        unnest(%(queue_ids)b::integer[], %(ids)b::bigint[], %(priorities)b::smallint[],
            %(backout_counts)b::integer[], %(delivery_counts)b::integer[],
            %(expiries)b::timestamptz[], %(delays_ms)b::bigint[]) AS back (
            queue_id, id, priority, backout_count, delivery_count, expires_at, delay_ms)
    WHERE (SELECT are_these FROM held) = 1
),
returned AS (
    INSERT INTO broker_ready (queue_id, priority, pos, id, backout_count,
        delivery_count, expires_at)
    SELECT queue_id, priority, id - 4611686018427387904, id, backout_count,
        delivery_count, expires_at
    FROM entry WHERE due_at IS NULL
),
waiting AS (
    INSERT INTO broker_delayed (due_at, id, queue_id, priority, backout_count,
        delivery_count, expires_at)
    SELECT due_at, id, queue_id, priority, backout_count, delivery_count, expires_at
    FROM entry WHERE due_at IS NOT NULL
),
transfer AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, went_to, actor,
        ids, detail)
    SELECT at, %(uow)s::bigint, queue_id, count(*), %(kind)s::smallint, %(came_from)s::smallint,
        CASE WHEN due_at IS NULL THEN 1 ELSE 3 END, %(actor)s::text, array_agg(id ORDER BY id),
        %(detail)s::jsonb
        || jsonb_build_object('backouts', array_agg(backout_count ORDER BY id))
        || jsonb_strip_nulls(jsonb_build_object('records', sum(records)))
        || CASE WHEN due_at IS NULL THEN '{}'::jsonb
           ELSE jsonb_build_object('due_at', array_agg(due_at ORDER BY id)) END
    FROM entry GROUP BY at, queue_id, due_at IS NULL
)
SELECT DISTINCT queue_id FROM entry WHERE due_at IS NULL;
