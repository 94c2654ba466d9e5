-- Make due delayed entries of one queue ready, as wake.sql does for all queues.
--
-- Order    the entry that is due for longest first.
-- Locks    the advisory lock of the queue, for which it waits. Within a transaction of the
--          caller, which may be long, it releases this lock at once. The entries; entries
--          locked by another transaction are skipped.
-- Index    broker_delayed_queue
-- Returns  the queue, and the number of entries.
WITH late AS MATERIALIZED (
    SELECT id::integer AS queue_id FROM broker_queue AS queue
    WHERE name = %(queue)s::text AND EXISTS (
        SELECT FROM broker_delayed AS entry WHERE entry.queue_id = queue.id
          AND due_at <= coalesce(%(now)s::timestamptz, statement_timestamp()))
),
turn AS MATERIALIZED (
    SELECT queue_id FROM late
    WHERE CASE WHEN NOT %(in_transaction)s::boolean
            THEN pg_advisory_xact_lock(%(lock_class)s::integer, queue_id) IS NOT NULL
        WHEN pg_advisory_lock_shared(%(lock_class)s::integer, queue_id) IS NOT NULL
            THEN pg_advisory_unlock_shared(%(lock_class)s::integer, queue_id) END
),
due AS (
    DELETE FROM broker_delayed
    WHERE ctid = ANY (ARRAY(
        SELECT found.ctid FROM turn, LATERAL (
            SELECT ctid FROM broker_delayed AS entry
            WHERE due_at <= coalesce(%(now)s::timestamptz, statement_timestamp())
              AND entry.queue_id = turn.queue_id
            ORDER BY due_at, id
            LIMIT %(limit)s::bigint
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
