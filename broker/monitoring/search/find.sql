-- Read the next entries of some queues, the newest message first, and return those that
-- match a condition. The parts in braces are composed for each filter; its values are
-- parameters.
--
-- Each source is read up to the limit of the whole. All lanes are read down to the same
-- floor; a lane that reached its limit earlier raises the floor.
--
-- Order    message, then queue, descending, from a cursor on.
-- Locks    none.
-- Index    broker_ready_pkey, broker_delayed_pkey, broker_discarded_pkey,
--          broker_dead_letter_pkey, broker_message_pkey
-- Returns  the fields of broker.monitoring.search.walking.SearchStep; one row with no entry
--          if none matches.
WITH ready AS MATERIALIZED (
    SELECT lane.number, found.*
    FROM unnest(%(lane_queues)s::integer[], %(lane_priorities)s::smallint[],
            %(lane_lows)s::bigint[], %(lane_highs)s::bigint[])
        WITH ORDINALITY AS lane (queue_id, priority, low, high, number),
    LATERAL (
        SELECT id, queue_id, priority, backout_count, expires_at FROM broker_ready
        WHERE broker_ready.queue_id = lane.queue_id
          AND broker_ready.priority = lane.priority
          AND pos >= lane.low AND pos < lane.high
        ORDER BY pos DESC LIMIT %(scan)s::bigint + 1
    ) AS found
),
range AS MATERIALIZED (
    SELECT * FROM unnest(%(lows)s::bigint[], %(highs)s::bigint[]) AS range (low, high)
),
floor AS MATERIALIZED (
    SELECT greatest(%(floor)s::bigint, max(last)) AS at FROM (
        SELECT min(id) AS last FROM ready
        GROUP BY number HAVING count(*) > %(scan)s::bigint) AS cut_off
),
source AS (
    SELECT id, queue_id, 1 AS place, false AS is_letter, priority, backout_count,
        NULL::timestamptz AS until, expires_at
    FROM ready
    UNION ALL
    SELECT found.* FROM range, LATERAL (
        SELECT id, queue_id, 3, false, priority, backout_count, due_at, expires_at
        FROM broker_delayed
        WHERE %(delayed)s::boolean AND id >= range.low AND id < range.high
          AND queue_id = ANY (%(queue_ids)s::integer[])
          AND (id, queue_id) < (%(before_id)s::bigint, %(before_queue)s::integer)
        ORDER BY id DESC, queue_id DESC LIMIT %(scan)s::bigint) AS found
    UNION ALL
    SELECT held.id, claim.queue_id, 2, false, held.priority, held.backout_count,
        work.deadline, held.expires_at
    FROM broker_claim AS claim
    JOIN broker_unit_of_work AS work ON work.id = claim.uow,
    unnest(claim.ids, claim.priorities, claim.backout_counts, claim.expiries) AS held (
        id, priority, backout_count, expires_at)
    WHERE %(held)s::boolean AND claim.queue_id = ANY (%(queue_ids)s::integer[])
      AND EXISTS (SELECT FROM range WHERE held.id >= low AND held.id < high)
    UNION ALL
    SELECT found.* FROM range, LATERAL (
        SELECT message_id, queue_id, 0, false, priority, backout_count, keep_until,
            expires_at
        FROM broker_discarded
        WHERE %(discarded)s::boolean
          AND message_id >= range.low AND message_id < range.high
          AND queue_id = ANY (%(queue_ids)s::integer[])
          AND (message_id, queue_id) < (%(before_id)s::bigint, %(before_queue)s::integer)
        ORDER BY message_id DESC, queue_id DESC LIMIT %(scan)s::bigint) AS found
    {letters}
),
seen AS MATERIALIZED (
    SELECT source.*, row_number() OVER (ORDER BY id DESC, queue_id DESC) AS number
    FROM source
    WHERE (id, queue_id) < (%(before_id)s::bigint, %(before_queue)s::integer)
      AND id >= (SELECT at FROM floor)
    ORDER BY id DESC, queue_id DESC
    LIMIT %(scan)s::bigint
),
found AS MATERIALIZED (
    SELECT seen.number, seen.id, seen.queue_id, seen.place, seen.until, entry.*,
        {of_dead}
    FROM seen
    -- One index lookup for each row, whatever the planner estimates.
    LEFT JOIN LATERAL (
        SELECT * FROM broker_dead_letter
        WHERE message_id = seen.id AND queue_id = seen.queue_id AND seen.place = 1
        LIMIT 1
    ) AS dead ON true
    CROSS JOIN LATERAL (
        SELECT seen.priority, seen.backout_count, seen.expires_at
        WHERE NOT seen.is_letter
        UNION ALL
        (SELECT ready.priority, ready.backout_count, ready.expires_at
        FROM broker_ready AS ready
        WHERE seen.is_letter AND ready.queue_id = seen.queue_id
          AND ready.priority = ANY ('{{0,1,2,3,4,5,6,7,8,9}}'::smallint[])
          AND ready.pos = ANY (ARRAY[seen.id, seen.id - 4611686018427387904])
        LIMIT 1)
    ) AS entry
    {message}
    WHERE {condition}
    LIMIT %(limit)s::bigint
)
SELECT count.seen, count.top, (SELECT at FROM floor), last.id, last.queue_id, {columns}
FROM (SELECT count(*) AS seen, max(id) AS top FROM seen) AS count
LEFT JOIN (SELECT id, queue_id FROM seen ORDER BY number DESC LIMIT 1) AS last ON true
LEFT JOIN found ON true
{of_message}
ORDER BY found.number
