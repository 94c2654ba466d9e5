-- Sum all journal events of all queues, or of some: the tally, and the events above its
-- watermark. One snapshot, so the sums are exact at one moment.
--
-- Locks    none.
-- Index    broker_event_xid
-- Returns  queue, kind, came from, went to (0 is nowhere), entries.
SELECT queue_id, kind, came_from, went_to, sum(entries)::bigint
FROM (
    SELECT queue_id, kind, came_from, went_to, entries FROM broker_tally
    WHERE %(queue_ids)s::integer[] IS NULL OR queue_id = ANY (%(queue_ids)s::integer[])
    UNION ALL
    SELECT queue_id, kind, coalesce(came_from, 0), coalesce(went_to, 0), n
    FROM broker_event
    WHERE (xid >= coalesce(
                (SELECT xid FROM broker_watermark WHERE reader = 'tally'), 0)
            AND xid < 9223372036854775807  -- the planner assumes few rows for a range
            OR xid = ANY ((SELECT skipped FROM broker_watermark WHERE reader = 'tally')::bigint[]))
        AND (%(queue_ids)s::integer[] IS NULL
            OR queue_id = ANY (%(queue_ids)s::integer[]))
) AS done
GROUP BY 1, 2, 3, 4;
