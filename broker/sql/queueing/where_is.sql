-- Find the entries of one message, in all states.
--
-- Order    by queue.
-- Locks    none: it only reads.
-- Index    broker_ready_pkey, broker_delayed_pkey
-- Returns  the fields of broker.queueing.browse.Whereabouts.
SELECT * FROM (
    SELECT ready.queue_id, 1 AS place, ready.priority, ready.backout_count,
        NULL::timestamptz AS until, ready.expires_at, NULL::bigint AS uow,
        NULL::text AS holder
    FROM broker_ready AS ready
    WHERE ready.queue_id = ANY (ARRAY(SELECT id::integer FROM broker_queue))
      AND ready.priority = ANY (ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]::smallint[])
      AND ready.pos = ANY (ARRAY[
          %(message_id)s::bigint, %(message_id)s::bigint - 4611686018427387904])
    UNION ALL
    SELECT queue_id, 3, priority, backout_count, due_at, expires_at, NULL, NULL
    FROM broker_delayed WHERE id = %(message_id)s::bigint
    UNION ALL
    SELECT claim.queue_id, 2, held.priority, held.backout_count, work.deadline,
        held.expires_at, claim.uow,
        owner.kind || ' ' || owner.pid || ' on ' || owner.host
    FROM broker_claim AS claim
    JOIN broker_unit_of_work AS work ON work.id = claim.uow
    LEFT JOIN broker_owner AS owner ON owner.id = work.owner_id,
    unnest(claim.ids, claim.priorities, claim.backout_counts, claim.expiries) AS held (
        id, priority, backout_count, expires_at)
    WHERE claim.ids @> ARRAY[%(message_id)s::bigint] AND held.id = %(message_id)s::bigint
) AS found
ORDER BY queue_id, place;
