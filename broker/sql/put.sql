-- Store messages sent to one address, and an entry on each queue that takes them.
--
-- Order    ids run in the order of the arrays. The transaction has its own id before
--          the first nextval, which is what the scan floor rests on.
-- Locks    none.
-- Index    one_address_a_name
-- Returns  the id of each message and the queues that took it, in order; no row at all,
--          and nothing stored, where the address does not exist, or where nobody has
--          looked and one of its queues is guarded, or some setting rules arrivals.
WITH own AS MATERIALIZED (
    SELECT pg_current_xact_id(), coalesce(%(now)s::timestamptz, statement_timestamp()) AS at
),
route AS MATERIALIZED (
    SELECT own.at,
        ARRAY(SELECT id FROM broker_queue
              WHERE address_id = address.id AND routing_type = 1
                AND id <> ALL (%(refusing_ids)b::integer[])
              ORDER BY id) AS anycast,
        ARRAY(SELECT id FROM broker_queue
              WHERE address_id = address.id AND routing_type = 0
                AND id <> ALL (%(refusing_ids)b::integer[])
              ORDER BY id) AS multicast
    FROM broker_address AS address, own
    WHERE address.name = %(address)s::text
      AND (%(looked)s::boolean OR NOT EXISTS (
          SELECT FROM broker_queue WHERE address_id = address.id AND guarded)
          AND NOT EXISTS (SELECT FROM broker_addresssetting WHERE rules_arrivals))
),
sent AS MATERIALIZED (
    SELECT nextval('broker_message_id_seq') AS id, route.*, message.*
    FROM route, unnest(
        %(priorities)b::smallint[], %(routing_types)b::smallint[],
        %(durables)b::boolean[], %(expiries)b::timestamptz[], %(dues)b::timestamptz[],
        %(content_types)b::text[], %(producers)b::text[], %(message_ids)b::text[],
        %(correlation_ids)b::text[], %(reply_tos)b::text[], %(subjects)b::text[],
        %(group_ids)b::text[], %(properties)b::jsonb[], %(bodies)b::bytea[],
        %(descriptors)b::jsonb[], %(headers)b::bytea[]
    ) AS message (priority, routing_type, durable, expires_at, due_at, content_type,
        producer, message_id, correlation_id, reply_to, subject, group_id, properties,
        body, descriptor, headers)
),
routed AS MATERIALIZED (
    SELECT id, at, priority, expires_at,
        CASE WHEN due_at > at THEN due_at END AS due_at,
        CASE WHEN routing_type = 1 THEN '{}' ELSE multicast END
        || CASE WHEN routing_type = 0 OR anycast = '{}' THEN '{}' ELSE ARRAY[
            anycast[1 + id %% cardinality(anycast)]] END AS taker_ids
    FROM sent
),
entry AS MATERIALIZED (
    SELECT id, at, priority, expires_at, due_at, queue_id
    FROM routed, unnest(taker_ids) AS queue_id
),
stored AS (
    INSERT INTO broker_message (id, put_at, expires_at, priority, routing_type, durable,
        address, content_type, producer, message_id, correlation_id, reply_to, subject,
        group_id, properties, body, descriptor, headers)
    SELECT id, at, expires_at, priority, routing_type, durable, %(address)s::text,
        content_type, producer, message_id, correlation_id, reply_to, subject,
        group_id, properties, body, descriptor, headers
    FROM sent
    WHERE EXISTS (SELECT FROM entry WHERE entry.id = sent.id)
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
SELECT id, taker_ids FROM routed ORDER BY id;
