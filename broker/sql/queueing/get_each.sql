-- Begin a unit of work with each of the next ready entries of one queue, often with a single
-- one. It does what get.sql does for one unit of work, in two thirds of the time. Who gets
-- one entry after the other ends the last unit of work in the same statement: accept.sql,
-- put_back.sql, copy.sql or copy_one.sql comes before it.
--
-- Order    none; the client has one. The entries are those that get.sql would take. Lanes
--          are those of the whole queue: for each priority the returned entries, and the
--          new ones from the low watermark on.
-- Locks    the entries, until this transaction ends; then the claims hold them.
-- Index    broker_ready_pkey
-- Returns  the fields of broker.queueing.get.Delivery; the fields of a message outside the
--          opened partitions are NULL. No row: nothing is ready, the queue is paused, or
--          stopped for pools, or the owner no longer exists.
WITH taken AS (
    DELETE FROM broker_ready
    WHERE ctid = ANY (ARRAY(
        SELECT found.ctid
        FROM unnest('{9,9,8,8,7,7,6,6,5,5,4,4,3,3,2,2,1,1,0,0}'::smallint[],
            %(lows)b::bigint[]) WITH ORDINALITY AS lane (priority, low, n),
        LATERAL (
            SELECT ready.ctid FROM broker_ready AS ready
            WHERE ready.queue_id = (
                SELECT id FROM broker_queue WHERE name = %(queue)s::text AND NOT paused
                  AND NOT (%(pooled)s::boolean AND stopped))
              AND ready.priority = lane.priority
              AND ready.pos >= lane.low
              AND ready.pos < CASE lane.n %% 2 WHEN 1 THEN 0 ELSE 9223372036854775807 END
              AND (ready.expires_at IS NULL
                   OR ready.expires_at > coalesce(%(now)s::timestamptz, statement_timestamp()))
            ORDER BY ready.pos
            LIMIT %(limit)s::bigint
            FOR UPDATE SKIP LOCKED
        ) AS found
        WHERE EXISTS (SELECT FROM broker_owner WHERE id = %(owner)s::integer)
        LIMIT %(limit)s::bigint
    ))
    -- A claim may be lost in a crash, as in get.sql.
    RETURNING queue_id, priority, pos, id, backout_count, expires_at,
        delivery_count + 1 AS delivery_count,
        coalesce(%(now)s::timestamptz, statement_timestamp()) AS at,
        nextval('broker_unit_of_work_id_seq') AS uow,
        set_config('synchronous_commit', coalesce(%(synchronous_commit)s::text,
            current_setting('synchronous_commit')), true)
),
opened AS (
    INSERT INTO broker_unit_of_work (id, owner_id, started_at, deadline)
    SELECT uow, %(owner)s::integer, at, at + %(timeout)s::interval FROM taken
),
claimed AS (
    INSERT INTO broker_claim (uow, claim_id, queue_id, claimed_at, ids, priorities,
        backout_counts, delivery_counts, expiries)
    SELECT uow, %(claim_id)s::integer, queue_id, at, ARRAY[id], ARRAY[priority],
        ARRAY[backout_count], ARRAY[delivery_count], ARRAY[expires_at]
    FROM taken
),
journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, went_to, actor, ids)
    SELECT at, uow, queue_id, 1, 2, 1, 2, %(actor)s::text, ARRAY[id] FROM taken
)
SELECT taken.uow, taken.queue_id, taken.id, taken.backout_count,
    taken.delivery_count, taken.priority, message.address, message.body,
    message.content_type, message.properties, message.message_id,
    message.correlation_id, message.reply_to, message.subject, message.group_id,
    message.producer, message.put_at, taken.expires_at, taken.pos, message.durable,
    message.descriptor, message.headers, message.envelope
FROM taken LEFT JOIN LATERAL (
    -- One index lookup for the entry, whatever the planner estimates. Only partitions
    -- near the queue's last message are opened.
    SELECT * FROM broker_message WHERE id = taken.id
      AND id >= %(near_from)s::bigint AND id <= %(near_to)s::bigint OFFSET 0
) AS message ON true;
