-- Find out whether the journal has events that are not in the tally yet (fold.sql).
--
-- Locks    none.
-- Index    broker_event_xid
-- Returns  one row: whether there is one.
SELECT EXISTS (
    SELECT FROM broker_event
    WHERE xid >= (SELECT xid FROM broker_watermark WHERE reader = 'tally')
        AND xid < 9223372036854775807  -- the planner assumes few rows for a range
        OR xid = ANY ((SELECT skipped FROM broker_watermark WHERE reader = 'tally')::bigint[]));
