-- Take the next ready entries of one queue into a unit of work. A consumer that gets one
-- batch after the other accepts the last unit of work in the same statement (accept.sql).
--
-- Order    highest priority first; within a priority, returned entries before new ones, by
--          id. Consumers of one queue skip each other's rows.
-- Locks    the entries, until this transaction ends; then the claim holds them. The unit of
--          work, so that it does not end meanwhile.
-- Index    broker_unit_of_work_pkey, broker_ready_pkey
-- Returns  the fields of broker.queueing.get.Delivery; the fields of a message outside
--          the opened partitions are NULL. No row: nothing is ready, the queue is paused,
--          or stopped for pools, or the unit of work or the owner no longer exists.
WITH unit AS MATERIALIZED (
    SELECT id FROM broker_unit_of_work WHERE id = %(uow)s::bigint FOR UPDATE
),
-- An entry is acknowledged only by a later, synchronous commit. So a claim may be lost in a
-- crash: then its entries are still ready.
relaxed AS MATERIALIZED (
    SELECT set_config('synchronous_commit', coalesce(
        %(synchronous_commit)s::text, current_setting('synchronous_commit')), true)
),
taken AS (
    -- The array is computed once, whatever the plan; a join might be executed again.
    DELETE FROM broker_ready
    WHERE ctid = ANY (ARRAY(
        SELECT found.ctid
        FROM unnest(%(priorities)b::smallint[], %(lows)b::bigint[], %(highs)b::bigint[])
            AS lane (priority, low, high),
        LATERAL (
            SELECT ready.ctid FROM broker_ready AS ready
            WHERE ready.queue_id = (
                SELECT id FROM broker_queue WHERE name = %(queue)s::text AND NOT paused
                  AND NOT (%(pooled)s::boolean AND stopped))
              AND ready.priority = lane.priority
              AND ready.pos >= lane.low AND ready.pos < lane.high
              AND (ready.expires_at IS NULL
                   OR ready.expires_at > coalesce(%(now)s::timestamptz, statement_timestamp()))
            ORDER BY ready.pos
            LIMIT %(limit)s::bigint
            FOR UPDATE SKIP LOCKED
        ) AS found
        WHERE CASE WHEN %(uow)s::bigint IS NULL
            THEN EXISTS (SELECT FROM broker_owner WHERE id = %(owner)s::integer)
            ELSE EXISTS (SELECT FROM unit) END
        LIMIT %(limit)s::bigint
    ))
    RETURNING queue_id, priority, pos, id, backout_count,
        delivery_count + 1 AS delivery_count, expires_at
),
opened AS (
    INSERT INTO broker_unit_of_work (id, owner_id, started_at, deadline)
    SELECT nextval('broker_unit_of_work_id_seq'), %(owner)s::integer, started.at,
        started.at + %(timeout)s::interval
    FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at) AS started
    WHERE %(uow)s::bigint IS NULL AND EXISTS (SELECT FROM taken)
    RETURNING id
),
work AS MATERIALIZED (SELECT id FROM opened UNION ALL SELECT id FROM unit),
claimed AS (
    INSERT INTO broker_claim (uow, claim_id, queue_id, claimed_at, ids, priorities,
        backout_counts, delivery_counts, expiries)
    SELECT (SELECT id FROM work), %(claim_id)s::integer + part, queue_id,
        coalesce(%(now)s::timestamptz, statement_timestamp()), array_agg(id), array_agg(priority),
        array_agg(backout_count), array_agg(delivery_count), array_agg(expires_at)
    FROM (
        SELECT *, (row_number() OVER (ORDER BY id) - 1) / 200 AS part FROM taken
    ) AS numbered, relaxed
    GROUP BY queue_id, part
    RETURNING uow, queue_id, ids, claimed_at
),
journal AS (
    INSERT INTO broker_event (at, uow, queue_id, n, kind, came_from, went_to, actor, ids)
    SELECT claimed_at, uow, queue_id, cardinality(ids), 2, 1, 2, %(actor)s::text, ids
    FROM claimed
)
SELECT (SELECT id FROM work), taken.queue_id, taken.id, taken.backout_count,
    taken.delivery_count, taken.priority, message.address, message.body, message.content_type,
    message.properties, message.message_id, message.correlation_id, message.reply_to,
    message.subject, message.group_id, message.producer, message.put_at, taken.expires_at,
    taken.pos, message.durable, message.descriptor, message.headers, message.envelope
FROM taken LEFT JOIN LATERAL (
    -- One index lookup for each entry, whatever the planner estimates. Only partitions
    -- near the queue's last message are opened.
    SELECT * FROM broker_message WHERE id = taken.id
      AND id >= %(near_from)s::bigint AND id <= %(near_to)s::bigint OFFSET 0
) AS message ON true
ORDER BY taken.priority DESC, taken.pos;
