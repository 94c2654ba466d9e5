-- Store messages, as the broker's put.sql: a message is its entry, unless it is delayed.
--
-- Index    one_address_a_name
WITH route AS MATERIALIZED (
    SELECT pg_current_xact_id()::text::bigint AS xid, anycast, multicast,
        coalesce(%(now)s::timestamptz, statement_timestamp()) AS at
    FROM broker_address AS address, LATERAL (
        SELECT bool_or(guarded) AS guarded, array_agg(id) FILTER (WHERE routing_type = 1) AS anycast,
            array_agg(id) FILTER (WHERE routing_type = 0) AS multicast
        FROM (SELECT id, routing_type, guarded FROM broker_queue WHERE address_id = address.id
                AND id <> ALL (%(refusing_ids)b::integer[]) ORDER BY id) AS queue
    ) AS queues WHERE address.name = %(address)s::text AND (%(looked)s::boolean OR guarded IS NOT TRUE
      -- The part of the pattern before any wildcard; letters and digits are no wildcards.
      AND NOT EXISTS (SELECT FROM broker_addresssetting WHERE rules_arrivals
          AND address.name ^@ substring(match FROM '^[[:alnum:]]*')))
),
numbered AS MATERIALIZED (
    SELECT route.*, ARRAY(SELECT nextval('broker_message_id_seq')
        FROM generate_series(1, cardinality(%(bodies)b::bytea[]))) AS ids FROM route
),
sent AS MATERIALIZED (
    SELECT xid, id, at, CASE WHEN due_at > at THEN due_at END AS due_at, expires_at,
        coalesce(priority, (%(priorities)b::smallint[])[1]) AS priority,
        coalesce(CASE WHEN routing_type IS DISTINCT FROM 1 THEN multicast END
            || CASE WHEN routing_type IS DISTINCT FROM 0 AND anycast IS NOT NULL
                THEN ARRAY[anycast[1 + id %% cardinality(anycast)]] END, '{}') AS taker_ids
    FROM (SELECT numbered.*, unnest(ids) AS id, unnest(%(priorities)b::smallint[]) AS priority,
            unnest(%(routing_types)b::smallint[]) AS routing_type,
            unnest(%(dues)b::timestamptz[]) AS due_at, unnest(%(expiries)b::timestamptz[]) AS expires_at
        FROM numbered) AS message
),
-- In a separate step from routing, so that bodies are not copied.
stored AS (
    INSERT INTO lane_message (xid, queue_id, id, put_at, expires_at, priority, routing_type, durable,
        address, content_type, producer, message_id, correlation_id, reply_to, subject,
        group_id, properties, body, descriptor, headers, envelope)
    SELECT xid, unnest(CASE WHEN due_at > at THEN '{0}' ELSE
        CASE WHEN routing_type IS DISTINCT FROM 1 THEN multicast END
        || CASE WHEN routing_type IS DISTINCT FROM 0 AND anycast <> '{}'
            THEN ARRAY[anycast[1 + id %% cardinality(anycast)]] END END),
        id, at, expires_at, coalesce(priority, (%(priorities)b::smallint[])[1]),
        routing_type, coalesce(durable, (%(durables)b::boolean[])[1]), %(address)s::text,
        coalesce(content_type, (%(content_types)b::text[])[1]),
        coalesce(producer, (%(producers)b::text[])[1]), message_id, correlation_id, reply_to,
        subject, group_id, coalesce(properties, '{}'), body, descriptor, headers, envelope
    FROM (SELECT numbered.*, unnest(ids) AS id, unnest(%(bodies)b::bytea[]) AS body,
            unnest(%(priorities)b::smallint[]) AS priority,
            unnest(%(routing_types)b::smallint[]) AS routing_type,
            unnest(%(durables)b::boolean[]) AS durable, unnest(%(headers)b::bytea[]) AS headers,
            unnest(%(expiries)b::timestamptz[]) AS expires_at,
            unnest(%(dues)b::timestamptz[]) AS due_at,
            unnest(%(content_types)b::text[]) AS content_type, unnest(%(envelopes)b::bytea[]) AS envelope,
            unnest(%(producers)b::text[]) AS producer, unnest(%(subjects)b::text[]) AS subject,
            unnest(%(message_ids)b::text[]) AS message_id,
            unnest(%(correlation_ids)b::text[]) AS correlation_id,
            unnest(%(reply_tos)b::text[]) AS reply_to, unnest(%(group_ids)b::text[]) AS group_id,
            unnest(%(properties)b::jsonb[]) AS properties,
            unnest(%(descriptors)b::jsonb[]) AS descriptor FROM numbered) AS message
    WHERE anycast IS NOT NULL AND routing_type IS DISTINCT FROM 0
       OR multicast IS NOT NULL AND routing_type IS DISTINCT FROM 1
),
waiting AS (
    INSERT INTO lane_delayed (due_at, xid, id, queue_id, priority, stored_under,
        backout_count, delivery_count)
    SELECT due_at, xid, id, unnest(taker_ids), priority, 0, 0, 0
    FROM sent WHERE %(dues)b::timestamptz[] IS NOT NULL AND due_at IS NOT NULL
),
routed AS MATERIALIZED (
    SELECT taker_ids, due_at IS NULL AS is_ready, min(at) AS at, array_agg(id) AS ids
    FROM sent GROUP BY taker_ids, is_ready
),
journal AS (
    INSERT INTO lane_event (at, uow, queue_id, n, kind, went_to, actor, ids)
    SELECT at, %(uow)s::bigint, unnest(taker_ids), cardinality(ids), 1,
        CASE WHEN is_ready THEN 1 ELSE 3 END, %(actor)s::text, ids FROM routed
)
SELECT taker_ids, ids FROM routed;
