-- The end of the final part of the journal, for dashboards.pipeline.bronze.
--   hi      all transactions with a lower id have ended
--   as_of   all that was committed before this time is below hi: the start of the oldest
--           transaction that is still writing and that this role may see, or now
--   lo      the start of the next window: the end of the last one; without windows the
--           oldest event, or hi without events
WITH journal AS MATERIALIZED (
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS hi
)
SELECT
    journal.hi,
    coalesce(
        (
            SELECT min(xact_start)
            FROM pg_stat_activity
            WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
        ),
        clock_timestamp()
    ) AS as_of,
    CASE
        WHEN EXISTS (SELECT FROM dashboards_exportwindow) THEN
            (SELECT max(w.hi) FROM dashboards_exportwindow w)
        ELSE
            (
                SELECT coalesce(min(e.xid), journal.hi)
                FROM broker_event e
                WHERE e.xid < journal.hi
            )
    END AS lo
FROM journal;
