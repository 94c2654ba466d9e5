-- Take expired entries from the head of one queue.
--
-- Order    none; only entries among the first entries of each priority are taken.
-- Locks    the entries; entries locked by another transaction are skipped.
-- Index    broker_ready_pkey
-- Returns  the fields of broker.queueing.transfer.TakenEntry, by id; no row if the queue is
--          paused.
WITH taken AS (
    DELETE FROM broker_ready
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM broker_ready
        WHERE ctid = ANY (ARRAY(
            SELECT seen.ctid
            FROM unnest(ARRAY[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]::smallint[]) AS lane (priority),
            LATERAL (
                SELECT ready.ctid, expires_at FROM broker_ready AS ready
                WHERE ready.queue_id = (
                    SELECT id FROM broker_queue WHERE name = %(queue)s::text AND NOT paused)
                  AND ready.priority = lane.priority
                ORDER BY ready.pos LIMIT %(scan)s::bigint
            ) AS seen
            WHERE expires_at <= coalesce(%(now)s::timestamptz, statement_timestamp())
        ))
          AND expires_at <= coalesce(%(now)s::timestamptz, statement_timestamp())
        LIMIT %(limit)s::bigint
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING queue_id, id, priority, backout_count, delivery_count, expires_at
)
SELECT *, true FROM taken ORDER BY id;
