-- Copy the message of one entry to one queue as a dead letter, and end the unit of work that
-- holds this entry and no other. It is copy.sql for such a unit of work, in half the time.
--
-- Locks    the unit of work, its claim, and the queues of the address against deletion.
-- Index    broker_unit_of_work_pkey, broker_claim_pkey, broker_message_pkey,
--          broker_annotations_pkey, broker_queue_pkey, broker_address_pkey
-- Returns  as copy.sql, and it fails as that does.
WITH policy AS (
    SELECT (SELECT coalesce(md5(string_agg(xmin::text || ctid::text, ' ' ORDER BY ctid)), '')
            FROM broker_addresssetting)
        || concat_ws(' ', queue.id, backout_threshold, kind, address.name) AS text
    FROM broker_queue AS queue JOIN broker_address AS address ON address.id = address_id
    WHERE queue.id = %(queue_id)s::integer
),
route AS (
    SELECT coalesce(string_agg(concat_ws(' ', id, routing_type, name, selector),
            E'\n' ORDER BY id), '') AS text, count(idle_since) AS idle
    FROM (
        SELECT id, routing_type, name, selector, idle_since FROM broker_queue
        WHERE address_id = (SELECT id FROM broker_address WHERE name = %(address)s::text)
        ORDER BY id FOR KEY SHARE
    ) AS taker
),
failed AS (
    DELETE FROM broker_unit_of_work WHERE id = %(ended_uow)s::bigint RETURNING id
),
held AS (
    DELETE FROM broker_claim
    WHERE uow = %(ended_uow)s::bigint AND EXISTS (SELECT FROM failed)
    RETURNING queue_id = %(queue_id)s::integer AND ids = ARRAY[%(id)s::bigint]
        AND delivery_counts = ARRAY[%(delivery_count)s::integer]
        AND coalesce(expiries[1]
            > coalesce(%(now)s::timestamptz, statement_timestamp()), true) AS is_this
),
fence AS (
    SELECT 1 / (count(*) = 1 AND bool_and(is_this)
        AND (SELECT text FROM policy) IS NOT DISTINCT FROM %(policy)s::text
        AND (SELECT text FROM route WHERE idle = 0) IS NOT DISTINCT FROM %(route)s::text
    )::integer AS is_whole
    FROM held
),
entry AS MATERIALIZED (
    -- The id is drawn in a transaction that has a number, as in put.sql.
    SELECT nextval('broker_message_id_seq') AS new_id, *,
        coalesce(%(now)s::timestamptz, statement_timestamp()) AS at,
        coalesce((SELECT name FROM broker_queue WHERE id = %(queue_id)s::integer), '') AS origin,
        coalesce(substring(properties ->> '_BRK_RESUBMIT_COUNT' FROM '^[0-9]{1,6}$')::integer, 0)
            AS resubmits
    FROM broker_message WHERE id >= %(id)s::bigint AND id <= %(id)s::bigint
      -- Computed once, before a message is looked up, and also if there is none.
      AND (SELECT is_whole FROM fence) = 1
),
stored AS (
    INSERT INTO broker_message (id, put_at, copied_from, first_id, expires_at, descriptor,
        headers, priority, durable, address, content_type, producer, message_id,
        correlation_id, reply_to, subject, group_id, properties, body, envelope)
    SELECT new_id, at, id, coalesce(first_id, id), at + %(lifetime)s::interval, descriptor,
        nullif(headers, ''), %(priority)s::smallint, durable, %(address)s::text, content_type,
        producer, message_id, correlation_id, reply_to, subject, group_id,
        properties - %(stale)b::text[] || jsonb_strip_nulls(jsonb_build_object(
            '_BRK_DEATH_REASON', %(cause)s::text,
            '_BRK_DEATH_TIME', floor(extract(epoch FROM at) * 1000),
            '_BRK_DEATH_ERROR', CASE %(cause)s::text WHEN 'REJECTED'
                THEN nullif(%(error)s::text, '') END,
            '_BRK_DEATH_COUNT', %(backout_count)s::integer,
            '_AMQ_ORIG_ADDRESS', address, '_AMQ_ORIG_QUEUE', nullif(origin, ''),
            '_AMQ_ORIG_MESSAGE_ID', id::text, '_AMQ_ORIG_ROUTING_TYPE', routing_type,
            '_BRK_RESUBMIT_COUNT', nullif(resubmits, 0))),
        body, envelope
    FROM entry
),
annotated AS (
    INSERT INTO broker_annotations (message_id, queue_id, annotations)
    SELECT new_id, %(taker)s::integer, annotations
    FROM entry JOIN broker_annotations AS said
        ON said.message_id = entry.id AND said.queue_id = %(queue_id)s::integer
),
arrived AS (
    INSERT INTO broker_ready (queue_id, priority, pos, id, expires_at)
    SELECT %(taker)s::integer, %(priority)s::smallint, new_id, new_id,
        at + %(lifetime)s::interval
    FROM entry
),
story AS (
    INSERT INTO broker_dead_letter (message_id, queue_id, died_at, origin_id,
        backout_count, resubmit_count, cause, reason, error, fingerprint, pattern,
        origin_address, origin_queue)
    SELECT new_id, %(taker)s::integer, at, id, %(backout_count)s::integer, resubmits,
        %(cause)s::text, %(reason)s::integer, %(error)s::text, %(fingerprint)s::text,
        %(pattern)s::text, address, origin
    FROM entry
),
transfer AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, went_to, actor, ids, detail)
    SELECT at, %(uow)s::bigint, %(queue_id)s::integer, 1, %(kind)s::smallint,
        %(came_from)s::smallint, NULL, %(actor)s::text, ARRAY[id],
        %(detail)s::jsonb || jsonb_build_object('to', %(address)s::text,
            'copies', ARRAY[new_id])
    FROM entry
    UNION ALL
    SELECT at, %(uow)s::bigint, %(taker)s::integer, 1, 1, NULL, 1, %(actor)s::text,
        ARRAY[new_id], %(detail)s::jsonb - 'stack'
    FROM entry
)
SELECT id, new_id, ARRAY[%(taker)s::integer] FROM entry;
