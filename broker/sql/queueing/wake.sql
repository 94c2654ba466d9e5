-- Make due delayed entries ready, at the head of their queues, in the original order. Each
-- queue has its share of a batch, so that no queue waits for another.
--
-- Order    the queues and entries that are due for longest first.
-- Locks    an advisory lock of each queue; a queue locked by another transaction is
--          skipped. The entries; entries locked by another transaction are skipped.
-- Index    broker_delayed_queue
-- Returns  the queues, and the number of entries of each.
WITH RECURSIVE waiting AS (
    (SELECT queue_id, due_at FROM broker_delayed ORDER BY queue_id, due_at LIMIT 1)
    UNION ALL
    SELECT next.queue_id, next.due_at FROM waiting, LATERAL (
        SELECT queue_id, due_at FROM broker_delayed AS further
        WHERE further.queue_id > waiting.queue_id ORDER BY queue_id, due_at LIMIT 1
    ) AS next
),
late AS MATERIALIZED (
    SELECT queue_id FROM waiting
    WHERE due_at <= coalesce(%(now)s::timestamptz, statement_timestamp())
    ORDER BY due_at LIMIT %(queues)s::bigint
),
turn AS MATERIALIZED (
    SELECT queue_id FROM late
    WHERE pg_try_advisory_xact_lock(%(lock_class)s::integer, queue_id)
),
due AS (
    DELETE FROM broker_delayed
    WHERE ctid = ANY (ARRAY(
        SELECT found.ctid FROM turn, LATERAL (
            SELECT ctid FROM broker_delayed AS entry
            WHERE due_at <= coalesce(%(now)s::timestamptz, statement_timestamp())
              AND entry.queue_id = turn.queue_id
            ORDER BY due_at, id
            LIMIT (SELECT greatest(%(limit)s::bigint / count(*), 1) FROM turn)
            FOR UPDATE SKIP LOCKED
        ) AS found
    ))
    RETURNING *
),
woken AS (
    INSERT INTO broker_ready (queue_id, priority, pos, id, backout_count,
        delivery_count, expires_at)
    SELECT queue_id, priority, id - 4611686018427387904, id, backout_count,
        delivery_count, expires_at
    FROM due
),
journal AS (
    INSERT INTO broker_event (at, queue_id, n, kind, came_from, went_to, ids)
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()), queue_id, count(*), 6, 3, 1,
        array_agg(id ORDER BY id)
    FROM due GROUP BY queue_id
    RETURNING queue_id, n
)
SELECT queue_id, n FROM journal;
