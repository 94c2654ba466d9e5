-- Sum all journal events of one queue: the tally, and the events above its watermark. One
-- snapshot, so the sums are exact at one moment.
--
-- Locks    none.
-- Index    broker_tally_pkey, broker_event_xid
-- Returns  kind, came from, went to (0 is nowhere), entries.
SELECT kind, came_from, went_to, sum(entries)::bigint
FROM (
    SELECT kind, came_from, went_to, entries FROM broker_tally
    WHERE queue_id = %(queue_id)s::integer
    UNION ALL
    SELECT kind, coalesce(came_from, 0), coalesce(went_to, 0), n
    FROM broker_event
    WHERE queue_id = %(queue_id)s::integer
        AND (xid >= coalesce(
                (SELECT xid FROM broker_watermark WHERE reader = 'tally'), 0)
            AND xid < 9223372036854775807  -- the planner assumes few rows for a range
            OR xid = ANY ((SELECT skipped FROM broker_watermark WHERE reader = 'tally')::bigint[]))
) AS done
GROUP BY 1, 2, 3;
