-- Add the next window of the journal to the tally, and to the times from get to accept.
--
-- A window ends at the oldest open transaction: all events below are final.
--
-- Locks    the watermark; if another process holds it, nothing is added.
-- Index    broker_event_xid
-- Returns  the watermark before and after; no row if there was nothing to do.
WITH pending AS MATERIALIZED (
    SELECT xid AS low, pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS high
    FROM broker_watermark WHERE reader = 'tally' FOR UPDATE SKIP LOCKED
),
sums AS MATERIALIZED (
    SELECT queue_id, kind, coalesce(came_from, 0) AS came_from,
        coalesce(went_to, 0) AS went_to, sum(n) AS entries,
        width_bucket(held_ms, %(bounds)s::integer[]) AS bucket
    FROM broker_event
    WHERE xid >= (SELECT low FROM pending) AND xid < (SELECT high FROM pending)
    GROUP BY 1, 2, 3, 4, bucket
),
added AS (
    INSERT INTO broker_tally AS tally (queue_id, kind, came_from, went_to, entries)
    SELECT queue_id, kind, came_from, went_to, sum(entries) FROM sums GROUP BY 1, 2, 3, 4
    ON CONFLICT (queue_id, kind, came_from, went_to)
    DO UPDATE SET entries = tally.entries + excluded.entries
),
held AS (
    INSERT INTO broker_held (queue_id, bucket, entries)
    SELECT queue_id, bucket, sum(entries) FROM sums WHERE bucket IS NOT NULL GROUP BY 1, 2
    ON CONFLICT (queue_id, bucket)
    DO UPDATE SET entries = broker_held.entries + excluded.entries
)
UPDATE broker_watermark SET xid = pending.high
FROM pending
WHERE reader = 'tally' AND pending.high > pending.low
RETURNING pending.low, pending.high;
