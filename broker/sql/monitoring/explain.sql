-- Find what prevents the delivery of each entry of one message.
--
-- An entry that an open transaction has taken is still visible as ready; its xmax is that
-- transaction. A live owner holds the advisory lock of its id.
--
-- Order    by queue.
-- Locks    none: it only reads.
-- Index    broker_ready_pkey, broker_delayed_pkey
-- Returns  the fields of broker.monitoring.explain.EntryLocation.
WITH own AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at
),
lock AS MATERIALIZED (
    SELECT transactionid, pid, objid::bigint AS owner_id FROM pg_locks
    WHERE granted AND (locktype = 'transactionid' OR locktype = 'advisory'
        AND classid = %(lock_class)s::integer::oid
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
),
entry AS MATERIALIZED (
    SELECT ready.queue_id, 1 AS place, ready.priority, ready.pos, ready.backout_count,
        NULL::timestamptz AS due_at, ready.expires_at, NULL::bigint AS uow,
        (SELECT pid FROM lock WHERE transactionid = ready.xmax LIMIT 1) AS pid
    FROM broker_ready AS ready
    WHERE ready.queue_id = ANY (ARRAY(SELECT id::integer FROM broker_queue))
      AND ready.priority = ANY (ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]::smallint[])
      AND ready.pos = ANY (ARRAY[
          %(message_id)s::bigint, %(message_id)s::bigint - 4611686018427387904])
    UNION ALL
    SELECT queue_id, 3, priority, NULL, backout_count, due_at, expires_at, NULL, NULL
    FROM broker_delayed WHERE id = %(message_id)s::bigint
    UNION ALL
    SELECT claim.queue_id, 2, held.priority, NULL, held.backout_count, NULL,
        held.expires_at, claim.uow, NULL
    FROM broker_claim AS claim,
        unnest(claim.ids, claim.priorities, claim.backout_counts, claim.expiries) AS held (
        id, priority, backout_count, expires_at)
    WHERE claim.ids @> ARRAY[%(message_id)s::bigint] AND held.id = %(message_id)s::bigint
)
SELECT entry.queue_id, coalesce(queue.name, ''), entry.place, own.at, entry.priority,
    entry.backout_count, entry.due_at, entry.expires_at, coalesce(queue.paused, false),
    CASE WHEN queue.stopped THEN coalesce((SELECT why FROM broker_stoppage
        WHERE queue_id = queue.id AND cleared_at IS NULL), '') END,
    letter.origin_queue, letter.cause,
    (SELECT count(*) FROM (
        (SELECT 1 FROM broker_ready AS other WHERE entry.place = 1
            AND other.queue_id = entry.queue_id AND other.priority > entry.priority
            ORDER BY other.priority, other.pos LIMIT %(limit)s::bigint)
        UNION ALL
        (SELECT 1 FROM broker_ready AS other WHERE other.queue_id = entry.queue_id
            AND other.priority = entry.priority AND other.pos < entry.pos
            ORDER BY other.pos LIMIT %(limit)s::bigint)
        LIMIT %(limit)s::bigint) AS earlier),
    entry.uow, work.xid, coalesce(work.started_at, session.xact_start), work.deadline,
    coalesce(owner.kind || ' ' || owner.pid || ' on ' || owner.host,
        'server process ' || entry.pid),
    entry.pid IS NOT NULL OR coalesce(work.owner_id, -1) = 0
        OR EXISTS (SELECT FROM lock WHERE owner_id = owner.id)
FROM own, entry LEFT JOIN broker_queue AS queue ON queue.id = entry.queue_id
LEFT JOIN broker_dead_letter AS letter
    ON letter.message_id = %(message_id)s::bigint AND letter.queue_id = entry.queue_id
LEFT JOIN broker_unit_of_work AS work ON work.id = entry.uow
LEFT JOIN broker_owner AS owner ON owner.id = work.owner_id
LEFT JOIN pg_stat_activity AS session ON session.pid = entry.pid
ORDER BY entry.queue_id, entry.place;
