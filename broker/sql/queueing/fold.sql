-- Add the next window of the journal to the tally, and to the times from get to accept.
--
-- A window ends at the oldest open transaction that has begun after the last fold. All events
-- below are final, except those of older transactions that are still open. The watermark has
-- the ids of these, and their events are added once they have ended. So a transaction that
-- stays open does not hold up the tally.
--
-- Locks    the watermark; if another process holds it, nothing is added.
-- Index    broker_event_xid
-- Returns  the watermark before and after; no row if there was nothing to do.
WITH pending AS MATERIALIZED (
    SELECT xid AS low, skipped, seen FROM broker_watermark
    WHERE reader = 'tally' FOR UPDATE SKIP LOCKED
),
own AS MATERIALIZED (SELECT pg_current_xact_id_if_assigned()::text::bigint AS xid),
snapshot AS MATERIALIZED (
    -- This transaction is not in its own snapshot.
    SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS top, ARRAY(
        SELECT open::text::bigint FROM pg_snapshot_xip(pg_current_snapshot()) AS open
        UNION SELECT xid FROM own WHERE xid IS NOT NULL) AS open
),
-- Another fold may have ended after this one took its snapshot. Then this one begins where that
-- one has ended, and does nothing if that is not below the end of its own snapshot.
old AS MATERIALIZED (
    SELECT xid, xid <> ALL (open) AS has_ended
    FROM pending, snapshot, unnest(skipped) AS xid
),
young AS MATERIALIZED (
    SELECT xid, xid < seen AND row_number() OVER (ORDER BY xid)
        <= %(most_skipped)s::bigint - (SELECT count(*) FROM old WHERE NOT has_ended) AS is_skipped
    FROM pending, snapshot, unnest(open) AS xid
    WHERE xid >= low AND xid < top
),
part AS MATERIALIZED (
    SELECT low, greatest(low, coalesce(
        (SELECT min(xid) FROM young WHERE NOT is_skipped), top)) AS high,
        ARRAY(SELECT xid FROM old WHERE has_ended) AS ended, greatest(seen, top) AS seen
    FROM pending, snapshot
),
sums AS MATERIALIZED (
    SELECT queue_id, kind, coalesce(came_from, 0) AS came_from,
        coalesce(went_to, 0) AS went_to, sum(n) AS entries,
        width_bucket(held_ms, %(bounds)s::integer[]) AS bucket
    FROM broker_event
    WHERE (xid >= (SELECT low FROM part) AND xid < (SELECT high FROM part)
            OR xid = ANY ((SELECT ended FROM part)::bigint[]))
        AND xid <> coalesce((SELECT xid FROM own), 0)
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
UPDATE broker_watermark SET xid = part.high, seen = part.seen, skipped = ARRAY(
    SELECT xid FROM old WHERE NOT has_ended
    UNION ALL SELECT xid FROM young WHERE is_skipped AND xid < part.high ORDER BY 1)
FROM part
WHERE reader = 'tally' AND (part.high > part.low OR part.seen > broker_watermark.seen)
RETURNING part.low, part.high;
