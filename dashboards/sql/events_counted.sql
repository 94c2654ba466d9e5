-- The events of a range of transaction ids, counted in at most 1,000 parts of that range.
-- Run through ADBC by dashboards.pipeline.bronze, as events_between.sql is. Index:
-- broker_event_xid.
--   upto    the end of the part, not part of it; the last one is archive.hi
--   events  of the part
WITH bounds AS MATERIALIZED (
    SELECT *, (hi - lo + 999) / 1000 AS width
    FROM (
        SELECT
            current_setting('archive.lo')::bigint AS lo,
            current_setting('archive.hi')::bigint AS hi
    ) AS whole
),

counted AS (
    SELECT
        (e.xid - (SELECT lo FROM bounds)) / (SELECT width FROM bounds) AS part,
        count(*) AS n
    FROM broker_event e
    WHERE e.xid >= (SELECT lo FROM bounds) AND e.xid < (SELECT hi FROM bounds)
    GROUP BY 1
)

SELECT
    least(b.lo + (part + 1) * b.width, b.hi) AS upto,
    coalesce(c.n, 0) AS events
FROM bounds b
CROSS JOIN generate_series(0, (b.hi - b.lo - 1) / b.width) AS part
LEFT JOIN counted c USING (part)
ORDER BY 1
