-- Store messages sent to one address, and an entry on each queue that takes them.
--
-- Order    ids run in the order of the arrays. The transaction has its own id before
--          the first nextval, which is what the scan floor rests on.
-- Locks    none.
-- Index    one_address_a_name
-- Returns  the id of each message and the queues that took it, in order; no row at all,
--          and nothing stored, where the address does not exist.
WITH own AS MATERIALIZED (
    SELECT pg_current_xact_id(), coalesce(%(now)s::timestamptz, statement_timestamp()) AS at
),
route AS MATERIALIZED (
    SELECT own.at,
        ARRAY(SELECT id FROM broker_queue
              WHERE address_id = address.id AND routing_type = 1
              ORDER BY id) AS anycast,
        ARRAY(SELECT id FROM broker_queue
              WHERE address_id = address.id AND routing_type = 0
              ORDER BY id) AS multicast
    FROM broker_address AS address, own
    WHERE address.name = %(address)s::text
),
sent AS MATERIALIZED (
    SELECT nextval('broker_message_id_seq') AS id, route.at, route.anycast,
        route.multicast, message.*
    FROM route, unnest(
        %(priorities)s::smallint[], %(routing_types)s::smallint[],
        %(durables)s::boolean[], %(expiries)s::timestamptz[], %(dues)s::timestamptz[],
        %(content_types)s::text[], %(producers)s::text[], %(message_ids)s::text[],
        %(correlation_ids)s::text[], %(reply_tos)s::text[], %(subjects)s::text[],
        %(group_ids)s::text[], %(properties)s::jsonb[], %(bodies)s::bytea[]
    ) AS message (priority, routing_type, durable, expires_at, due_at, content_type,
        producer, message_id, correlation_id, reply_to, subject, group_id, properties,
        body)
),
entry AS MATERIALIZED (
    SELECT id, at, priority, expires_at, queue_id,
        CASE WHEN due_at > at THEN due_at END AS due_at
    FROM sent, unnest(
        CASE WHEN routing_type IS DISTINCT FROM 1 THEN multicast END
        || CASE WHEN routing_type IS DISTINCT FROM 0
           THEN anycast[1 + id %% cardinality(anycast):1 + id %% cardinality(anycast)]
           END
    ) AS queue_id
),
stored AS (
    INSERT INTO broker_message (id, put_at, expires_at, priority, routing_type, durable,
        address, content_type, producer, message_id, correlation_id, reply_to, subject,
        group_id, properties, body)
    SELECT id, at, expires_at, priority, routing_type, durable, %(address)s::text,
        content_type, producer, message_id, correlation_id, reply_to, subject,
        group_id, properties, body
    FROM sent
    WHERE id IN (SELECT id FROM entry)
),
arrived AS (
    INSERT INTO broker_ready (queue_id, priority, pos, id, expires_at)
    SELECT queue_id, priority, id, id, expires_at FROM entry WHERE due_at IS NULL
),
waiting AS (
    INSERT INTO broker_delayed (due_at, id, queue_id, priority, expires_at)
    SELECT due_at, id, queue_id, priority, expires_at
    FROM entry WHERE due_at IS NOT NULL
),
journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, went_to, actor, ids)
    SELECT at, %(uow)s::bigint, queue_id, count(*), 1,
        CASE WHEN due_at IS NULL THEN 1 ELSE 3 END, %(actor)s::text, array_agg(id)
    FROM entry GROUP BY at, queue_id, due_at IS NULL, due_at IS NULL
)
SELECT id, ARRAY(SELECT queue_id FROM entry WHERE entry.id = sent.id)
FROM sent ORDER BY id;
