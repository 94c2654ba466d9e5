-- Count the entries of one queue in all states: the tally, and the journal above its
-- watermark. It includes changes of this transaction, but no uncommitted ones of others.
--
-- Locks    none.
-- Index    broker_tally_pkey, broker_event_xid
-- Returns  the number.
SELECT coalesce(sum(entries * (
    (went_to > 0)::integer - (came_from > 0)::integer)), 0)::bigint
FROM (
    SELECT came_from, went_to, entries FROM broker_tally
    WHERE queue_id = %(queue_id)s::integer
    UNION ALL
    SELECT coalesce(came_from, 0), coalesce(went_to, 0), n
    FROM broker_event
    WHERE queue_id = %(queue_id)s::integer
        AND (xid >= coalesce(
                (SELECT xid FROM broker_watermark WHERE reader = 'tally'), 0)
            AND xid < 9223372036854775807  -- the planner assumes few rows for a range
            OR xid = ANY ((SELECT skipped FROM broker_watermark WHERE reader = 'tally')::bigint[]))
) AS done;
