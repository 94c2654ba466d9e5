-- Make delayed entries ready whose time has come: at the head of their queues, in the
-- original order.
--
-- Order    the longest due first.
-- Locks    the entries; what another transaction holds is skipped.
-- Index    broker_delayed_due
-- Returns  the queues, and how many entries of each.
WITH due AS (
    DELETE FROM broker_delayed
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM broker_delayed
        WHERE due_at <= coalesce(%(now)s::timestamptz, statement_timestamp())
        ORDER BY due_at, id
        LIMIT %(limit)s::bigint
        FOR UPDATE SKIP LOCKED
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
