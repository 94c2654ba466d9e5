-- Find messages that ended, in the next window of the journal of a reader; move its
-- watermark.
--
-- A window has at most a thousand transactions, and few more than twenty thousand messages
-- that ended. It ends before the first event that is younger than the retention, and at
-- the oldest open transaction.
--
-- Order    of the journal.
-- Locks    the watermark; if another process holds it, nothing is found.
-- Index    broker_event_xid, broker_message_pkey
-- Returns  ids of messages, by address; a row without address if the window has none. No
--          row: there is no window yet.
WITH pending AS MATERIALIZED (
    SELECT xid AS low, least(xid + 1000,
        pg_snapshot_xmin(pg_current_snapshot())::text::bigint) AS top
    FROM broker_watermark WHERE reader = %(reader)s::text FOR UPDATE SKIP LOCKED
),
event AS MATERIALIZED (
    SELECT xid, at, went_to, ids, coalesce(sum(n) FILTER (WHERE went_to IS NULL) OVER (
        ORDER BY xid RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
    FROM broker_event
    WHERE xid >= (SELECT low FROM pending) AND xid < (SELECT top FROM pending)
),
read AS MATERIALIZED (
    SELECT low, coalesce((SELECT min(xid) FROM event
        WHERE at > coalesce(%(now)s::timestamptz, statement_timestamp())
            - %(retention_s)s::bigint * interval '1 second' OR before >= 20000), top) AS high
    FROM pending
),
moved AS (
    UPDATE broker_watermark SET xid = read.high FROM read
    WHERE reader = %(reader)s::text AND read.high > read.low
    RETURNING read.high
),
ended AS MATERIALIZED (
    SELECT DISTINCT unnest(event.ids) AS id FROM event, moved
    WHERE event.went_to IS NULL AND event.xid < moved.high
),
found AS (
    SELECT message.address, array_agg(message.id) AS ids
    FROM ended JOIN broker_message AS message ON message.id = ended.id
    GROUP BY message.address
)
SELECT found.address, found.ids FROM moved LEFT JOIN found ON true;
