-- End entries by copying their messages to queues of an address; or copy, and let the
-- entries be.
--
-- The copy is a new message with a new id: it expires by its new address's rules, its
-- routing is free, its origin in its properties and in broker_dead_letter. As IBM moves
-- them it keeps its expiry and its properties, and may have other headers.
--
-- Order    copies are numbered in the order of the arrays.
-- Locks    none; the caller holds the queues that take them.
-- Index    broker_message_pkey
-- Returns  for each entry, in order: its id, its copy's id, the queues that took it.
WITH own AS MATERIALIZED (
    SELECT at, floor(extract(epoch FROM at) * 1000) AS at_ms, pg_current_xact_id()
    FROM coalesce(%(now)s::timestamptz, statement_timestamp()) AS at
),
taker AS MATERIALIZED (
    SELECT * FROM unnest(%(taker_ids)b::integer[], %(taker_types)b::smallint[])
        AS taker (queue_id, type)
),
copied AS MATERIALIZED (
    SELECT nextval('broker_message_id_seq') AS new_id, entry.*
    FROM (
        SELECT source.*, message.address, message.routing_type,
            CASE WHEN %(as_ibm)s::boolean THEN message.expires_at
            ELSE own.at + %(lifetime)s::interval END AS expires_at,
            message.properties - %(stale)b::text[] AS properties,
            -- A sender may have written anything there.
            CASE WHEN %(restore)s::boolean THEN substring(
                message.properties ->> '_AMQ_ORIG_ROUTING_TYPE' FROM '^[01]$')::smallint
            END AS route_as,
            %(restore)s::boolean::integer + coalesce(substring(
                message.properties ->> '_BRK_RESUBMIT_COUNT' FROM '^[0-9]{1,6}$')::integer,
                0) AS resubmits
        FROM own, unnest(%(queue_ids)b::integer[], %(ids)b::bigint[],
                %(priorities)b::smallint[], %(backout_counts)b::integer[],
                %(refusing)b::jsonb[], %(descriptors)b::jsonb[], %(headers)b::bytea[])
            WITH ORDINALITY AS source (queue_id, id, priority, backout_count, refusing,
                descriptor, headers, ord)
        JOIN broker_message AS message ON message.id = source.id
        ORDER BY source.ord
    ) AS entry
),
entry AS MATERIALIZED (
    SELECT copied.*, own.*, origin.name AS origin_queue, taking.queue_id AS new_queue_id
    FROM own, copied LEFT JOIN broker_queue AS origin ON origin.id = copied.queue_id,
    LATERAL (
        SELECT coalesce(array_agg(queue_id) FILTER (WHERE type = 1), '{}') AS anycast,
            coalesce(array_agg(queue_id) FILTER (WHERE type = 0), '{}') AS multicast
        FROM taker WHERE copied.refusing @> to_jsonb(queue_id) IS NOT TRUE
    ) AS willing,
    unnest(
        CASE WHEN route_as = 1 AND anycast <> '{}' THEN '{}' ELSE multicast END
        || CASE WHEN route_as = 0 AND multicast <> '{}' OR anycast = '{}' THEN '{}'
           ELSE ARRAY[anycast[1 + new_id %% cardinality(anycast)]] END
    ) AS taking (queue_id)
),
stored AS (
    INSERT INTO broker_message (id, put_at, copied_from, expires_at, descriptor, headers,
        priority, routing_type, durable, address, content_type, producer, message_id,
        correlation_id, reply_to, subject, group_id, properties, body)
    SELECT entry.new_id, CASE WHEN %(as_ibm)s::boolean THEN message.put_at ELSE at END,
        message.id, entry.expires_at, coalesce(entry.descriptor, message.descriptor),
        nullif(coalesce(entry.headers, message.headers), ''), entry.priority,
        entry.route_as, message.durable, %(address)s::text, message.content_type,
        message.producer, message.message_id, message.correlation_id, message.reply_to,
        message.subject, message.group_id,
        CASE WHEN %(as_ibm)s::boolean THEN message.properties
        ELSE entry.properties || jsonb_strip_nulls(jsonb_build_object(
            '_AMQ_ORIG_ADDRESS', entry.address, '_AMQ_ORIG_QUEUE', entry.origin_queue,
            '_AMQ_ORIG_MESSAGE_ID', entry.id::text, '_AMQ_ORIG_ROUTING_TYPE', entry.routing_type,
            '_BRK_DEATH_COUNT', CASE WHEN %(cause)s::text IS NOT NULL THEN backout_count END,
            '_BRK_DEATH_REASON', %(cause)s::text,
            '_BRK_DEATH_TIME', CASE WHEN %(cause)s::text IS NOT NULL THEN at_ms END,
            '_AMQ_ACTUAL_EXPIRY', CASE WHEN %(cause)s::text = 'EXPIRED' THEN at_ms END)) END
        || CASE WHEN entry.resubmits > 0 THEN jsonb_build_object(
            '_BRK_RESUBMIT_COUNT', entry.resubmits) ELSE '{}' END,
        message.body
    FROM (SELECT DISTINCT ON (new_id) * FROM entry ORDER BY new_id) AS entry
    JOIN broker_message AS message ON message.id = entry.id
),
arrived AS (
    INSERT INTO broker_ready (queue_id, priority, pos, id, expires_at)
    SELECT new_queue_id, priority, new_id, new_id, expires_at FROM entry
),
story AS (
    INSERT INTO broker_dead_letter (message_id, queue_id, died_at, origin_id,
        backout_count, resubmit_count, cause, reason, error, fingerprint, pattern,
        origin_address, origin_queue)
    SELECT new_id, new_queue_id, at, id, backout_count, resubmits, %(cause)s::text,
        %(reason)s::integer, %(error)s::text, %(fingerprint)s::text, %(pattern)s::text,
        address, coalesce(origin_queue, '')
    FROM entry WHERE %(cause)s::text IS NOT NULL
),
journal AS (
    INSERT INTO broker_event (
        at, uow, queue_id, n, kind, came_from, went_to, actor, ids, detail)
    SELECT at, %(uow)s::bigint, queue_id, count(*), %(kind)s::smallint,
        %(came_from)s::smallint, NULL::smallint, %(actor)s::text, array_agg(id ORDER BY id),
        %(detail)s::jsonb || jsonb_build_object('to', %(address)s::text,
            'copies', array_agg(new_id ORDER BY id))
    FROM (SELECT DISTINCT at, queue_id, id, new_id FROM entry) AS ended
    WHERE %(ends)s::boolean
    GROUP BY at, queue_id
    UNION ALL
    SELECT at, %(uow)s::bigint, new_queue_id, count(*), 1::smallint, NULL, 1::smallint,
        %(actor)s::text, array_agg(new_id ORDER BY new_id), %(detail)s::jsonb
    FROM entry GROUP BY at, new_queue_id
)
SELECT id, new_id, ARRAY(
    SELECT new_queue_id FROM entry WHERE entry.new_id = copied.new_id ORDER BY 1)
FROM copied ORDER BY ord;
