-- Copy the messages of entries to the queues of an address; the entries leave their queues,
-- or stay.
--
-- The copy is a new message with a new id. It expires by the rules of the new address, its
-- routing type is not fixed, and its origin is in its properties and in broker_dead_letter.
-- By IBM MQ's rules it keeps its expiry and properties, and may have other headers.
--
-- A *way* is the set of queues that take a message, by routing type. If there is only one,
-- the array of the way of each entry is NULL.
--
-- Like put_back.sql, it may end an open unit of work that holds these entries, and no
-- others.
--
-- Order    copies are numbered in the order of the arrays.
-- Locks    none; the caller has locked the target queues. Or the unit of work that ends,
--          and the target queues against deletion.
-- Index    broker_message_pkey, broker_annotations_pkey, broker_unit_of_work_pkey,
--          broker_claim_pkey, broker_queue_pkey, broker_address_pkey
-- Returns  for each entry, in order: its id, its copy's id, the queues that took it. It
--          fails as put_back.sql does, and if the queues of the address have changed.
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
        AND (SELECT text FROM route WHERE idle = 0) IS NOT DISTINCT FROM %(route)s::text
    ))::integer AS are_these
    FROM failed_claims CROSS JOIN unnest(ids, delivery_counts, expiries)
        AS was (id, delivery_count, expires_at)
    LEFT JOIN unnest(%(queue_ids)b::integer[], %(ids)b::bigint[], %(delivery_counts)b::integer[])
        AS back (queue_id, id, delivery_count) USING (queue_id, id, delivery_count)
),
own AS MATERIALIZED (
    SELECT at, cause, %(as_ibm)s::boolean AS as_ibm, pg_current_xact_id(),
        CASE WHEN cause IS NULL THEN '{}' ELSE jsonb_strip_nulls(jsonb_build_object(
            '_BRK_DEATH_REASON', cause, '_BRK_DEATH_TIME', at_ms,
            '_BRK_DEATH_ERROR', CASE WHEN cause = 'REJECTED' THEN nullif(%(error)s::text, '') END,
            '_AMQ_ACTUAL_EXPIRY', CASE WHEN cause = 'EXPIRED' THEN at_ms END)) END AS told
    FROM coalesce(%(now)s::timestamptz, statement_timestamp()) AS at,
        floor(extract(epoch FROM at) * 1000) AS at_ms, (SELECT %(cause)s::text AS cause) AS why
),
way AS MATERIALIZED (
    SELECT number, coalesce(array_agg(taker) FILTER (WHERE type = 1), '{}') AS anycast,
        coalesce(array_agg(taker) FILTER (WHERE type = 0), '{}') AS multicast
    FROM unnest(%(refusing)b::jsonb[]) WITH ORDINALITY AS way (refusing, number),
        unnest(%(taker_ids)b::integer[], %(taker_types)b::smallint[]) AS of (taker, type)
    WHERE NOT refusing @> to_jsonb(taker) GROUP BY number
),
entry AS MATERIALIZED (
    SELECT found.*, CASE WHEN route_as = 1 AND anycast <> '{}' THEN '{}' ELSE multicast END
        || CASE WHEN route_as = 0 AND multicast <> '{}' OR anycast = '{}' THEN '{}'
           ELSE ARRAY[anycast[1 + new_id %% cardinality(anycast)]] END AS takers
    FROM (
        SELECT nextval('broker_message_id_seq') AS new_id, ordered.* FROM (
            SELECT source.*, own.*, anycast, multicast, message.address, message.routing_type,
                origin.name AS origin,
                CASE WHEN as_ibm THEN message.expires_at
                ELSE at + %(lifetime)s::interval END AS expires_at,
                -- A sender may have set this property to any value.
                CASE WHEN %(restore)s::boolean THEN substring(
                    properties ->> '_AMQ_ORIG_ROUTING_TYPE' FROM '^[01]$')::smallint
                END AS route_as,
                %(restore)s::boolean::integer + coalesce(substring(properties
                    ->> '_BRK_RESUBMIT_COUNT' FROM '^[0-9]{1,6}$')::integer, 0) AS resubmits
            FROM own, unnest(%(queue_ids)b::integer[], %(ids)b::bigint[],
                    %(priorities)b::smallint[], %(backout_counts)b::integer[],
                    %(ways)b::integer[], %(descriptors)b::jsonb[], %(headers)b::bytea[])
                WITH ORDINALITY AS source (queue_id, id, priority, backout_count, way,
                    descriptor, headers, ord)
            JOIN way ON way.number = coalesce(source.way, 1)
            JOIN broker_message AS message ON message.id = source.id
              AND message.id BETWEEN %(first_id)s::bigint AND %(last_id)s::bigint
            LEFT JOIN broker_queue AS origin ON origin.id = source.queue_id
            WHERE (SELECT are_these FROM held) = 1
            ORDER BY source.ord
        ) AS ordered
    ) AS found
),
stored AS (
    INSERT INTO broker_message (id, put_at, copied_from, first_id, expires_at, descriptor,
        headers, priority, routing_type, durable, address, content_type, producer,
        message_id, correlation_id, reply_to, subject, group_id, properties, body, envelope)
    SELECT new_id, CASE WHEN as_ibm THEN message.put_at ELSE at END,
        message.id, coalesce(message.first_id, message.id), entry.expires_at,
        coalesce(entry.descriptor, message.descriptor),
        nullif(coalesce(entry.headers, message.headers), ''), entry.priority,
        route_as, durable, %(address)s::text, content_type, producer, message_id,
        correlation_id, reply_to, subject, group_id,
        CASE WHEN as_ibm THEN message.properties
        ELSE message.properties - %(stale)b::text[] || told
            || jsonb_strip_nulls(jsonb_build_object('_AMQ_ORIG_ADDRESS', entry.address,
            '_AMQ_ORIG_QUEUE', origin, '_AMQ_ORIG_MESSAGE_ID', message.id::text,
            '_AMQ_ORIG_ROUTING_TYPE', entry.routing_type, '_BRK_DEATH_COUNT',
            CASE WHEN cause IS NOT NULL THEN backout_count END)) END
        || CASE WHEN resubmits > 0 THEN jsonb_build_object(
            '_BRK_RESUBMIT_COUNT', resubmits) ELSE '{}' END,
        body, envelope
    FROM entry JOIN broker_message AS message ON message.id = entry.id
      AND message.id BETWEEN %(first_id)s::bigint AND %(last_id)s::bigint
),
annotated AS (
    INSERT INTO broker_annotations (message_id, queue_id, annotations)
    SELECT new_id, unnest(takers), annotations
    FROM entry JOIN broker_annotations AS said
        ON said.message_id = entry.id AND said.queue_id = entry.queue_id
),
arrived AS (
    INSERT INTO broker_ready (queue_id, priority, pos, id, expires_at)
    SELECT unnest(takers), priority, new_id, new_id, expires_at FROM entry
),
story AS (
    INSERT INTO broker_dead_letter (message_id, queue_id, died_at, origin_id,
        backout_count, resubmit_count, cause, reason, error, fingerprint, pattern,
        origin_address, origin_queue)
    SELECT new_id, unnest(takers), at, id, backout_count, resubmits, cause,
        %(reason)s::integer, %(error)s::text, %(fingerprint)s::text, %(pattern)s::text,
        address, coalesce(origin, '')
    FROM entry WHERE cause IS NOT NULL
),
transfer AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, went_to, actor, ids, detail)
    SELECT at, %(uow)s::bigint, queue_id, count(*), %(kind)s::smallint,
        %(came_from)s::smallint, NULL::smallint, %(actor)s::text, array_agg(id ORDER BY id),
        %(detail)s::jsonb || jsonb_build_object('to', %(address)s::text,
            'copies', array_agg(new_id ORDER BY id))
    FROM entry WHERE %(ends)s::boolean GROUP BY at, queue_id
    UNION ALL
    SELECT at, %(uow)s::bigint, taker, count(*), 1::smallint, NULL, 1::smallint,
        %(actor)s::text, array_agg(new_id ORDER BY new_id), %(detail)s::jsonb - 'stack'
    FROM entry, unnest(takers) AS taker GROUP BY at, taker
)
SELECT id, new_id, takers FROM entry ORDER BY ord;
