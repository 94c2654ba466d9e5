-- Back out an open unit of work that holds one entry, and get this entry again into a new
-- one: what put_back.sql and get_each.sql do one after the other, if the entry has no
-- redelivery delay and nothing comes before it. It does not move; the new unit of work takes
-- over its claim.
--
-- Order    no ready entry comes before it. Such an entry would be in the lanes of get_each.sql
--          up to that of returned entries of its priority, before the position where it would
--          be itself.
-- Locks    the unit of work, which gets another id; its claim.
-- Index    broker_message_pkey, broker_unit_of_work_pkey, broker_claim_pkey,
--          broker_ready_pkey
-- Returns  one row: the fields of broker.queueing.get.Delivery. All are NULL if another
--          entry comes first, the queue is paused, or stopped for pools, or the unit of work
--          has ended. It fails as put_back.sql does.
WITH policy AS (
    SELECT (SELECT coalesce(md5(string_agg(xmin::text || ctid::text, ' ' ORDER BY ctid)), '')
            FROM broker_addresssetting)
        || concat_ws(' ', queue.id, backout_threshold, kind, address.name) AS text
    FROM broker_queue AS queue JOIN broker_address AS address ON address.id = address_id
    WHERE queue.id = %(queue_id)s::integer AND queue.name = %(queue)s::text AND NOT paused
      AND NOT (%(pooled)s::boolean AND stopped)
),
ended AS (
    UPDATE broker_unit_of_work
    SET id = nextval('broker_unit_of_work_id_seq'), puts = 0, started_at = at,
        deadline = at + %(timeout)s::interval
    FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at) AS own
    WHERE id = %(uow)s::bigint AND EXISTS (SELECT FROM policy) AND NOT EXISTS (
        SELECT FROM unnest('{9,9,8,8,7,7,6,6,5,5,4,4,3,3,2,2,1,1,0,0}'::smallint[],
            %(lows)b::bigint[]) WITH ORDINALITY AS lane (priority, low, n), LATERAL (
            SELECT FROM broker_ready AS ready
            WHERE ready.queue_id = %(queue_id)s::integer AND ready.priority = lane.priority
              AND pos >= low AND pos < CASE n %% 2 WHEN 0 THEN 9223372036854775807 ELSE CASE n
                WHEN %(last_lane)s::bigint THEN %(id)s::bigint - 4611686018427387904 ELSE 0 END END
              AND (ready.expires_at IS NULL OR ready.expires_at > own.at)
            ORDER BY pos LIMIT 1
        ) AS before WHERE n <= %(last_lane)s::bigint
    ) RETURNING id, at
),
claimed AS (
    UPDATE broker_claim
    SET uow = ended.id, claim_id = 0, claimed_at = at,
        backout_counts = ARRAY[%(backout_count)s::integer],
        delivery_counts = ARRAY[%(delivery_count)s::integer + 1]
    FROM ended
    WHERE uow = %(uow)s::bigint AND ids = ARRAY[%(id)s::bigint]
      AND delivery_counts = ARRAY[%(delivery_count)s::integer]
      AND (expiries[1] IS NULL OR expiries[1] > at)
      AND (SELECT count(*) FROM broker_claim WHERE uow = %(uow)s::bigint) = 1
      AND (SELECT text FROM policy) = %(policy)s::text
    RETURNING uow, at
),
message AS MATERIALIZED (
    -- Only the partition of this message is opened.
    SELECT * FROM broker_message WHERE id >= %(id)s::bigint AND id <= %(id)s::bigint
),
journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, went_to, actor, ids, detail)
    SELECT at, %(uow)s::bigint, %(queue_id)s::integer, 1, %(kind)s::smallint,
        %(came_from)s::smallint, 1, %(actor)s::text, ARRAY[%(id)s::bigint],
        %(detail)s::jsonb || jsonb_build_object('backouts', ARRAY[%(backout_count)s::integer],
            'records', CASE WHEN %(backout_count)s::integer > nullif(%(most_records)s::integer, -1)
                THEN 0 ELSE (SELECT durable FROM message)::integer END)
    FROM claimed UNION ALL
    SELECT at, uow, %(queue_id)s::integer, 1, 2, 1, 2, %(actor)s::text, ARRAY[%(id)s::bigint], NULL
    FROM claimed
)
SELECT claimed.uow, %(queue_id)s::integer, id, %(backout_count)s::integer,
    %(delivery_count)s::integer + 1, %(priority)s::smallint, address, body, content_type,
    properties, message_id, correlation_id, reply_to, subject, group_id, producer, put_at,
    %(expires_at)s::timestamptz, id - 4611686018427387904, durable, descriptor, headers, envelope
FROM (
    SELECT 1 / ((SELECT count(*) FROM ended) = (SELECT count(*) FROM claimed))::integer
) AS held (is_whole) LEFT JOIN (claimed CROSS JOIN message) ON true
WHERE is_whole = 1;  -- a column that nobody reads would not be computed
