-- Take the ready and delayed entries of one queue that will be deleted.
--
-- Order    ready entries by key, delayed ones by due time.
-- Locks    the entries; entries locked by another transaction are skipped.
-- Index    broker_ready_pkey, broker_delayed_queue
-- Returns  the place of each entry, and the fields of broker.queueing.transfer.TakenEntry
--          except the last; at most ``limit``.
WITH ready AS (
    DELETE FROM broker_ready
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM broker_ready
        WHERE queue_id = %(queue_id)s::integer
        ORDER BY queue_id, priority, pos
        LIMIT %(limit)s::bigint
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING queue_id, id, priority, backout_count, delivery_count, expires_at
),
delayed AS (
    DELETE FROM broker_delayed
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM broker_delayed
        WHERE queue_id = %(queue_id)s::integer
        ORDER BY queue_id, due_at, id
        LIMIT %(limit)s::bigint - (SELECT count(*) FROM ready)
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING queue_id, id, priority, backout_count, delivery_count, expires_at
)
SELECT 1, * FROM ready UNION ALL SELECT 3, * FROM delayed;
