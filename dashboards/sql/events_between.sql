-- The events of a range of transaction ids and times, complete and final, in an order that
-- gives the same file each time. Run through ADBC by dashboards.pipeline.bronze. It has no
-- parameters, so ADBC sends it as one binary COPY: the bounds are settings of the
-- connection, see bounds.sql. They are read in subqueries: once, and not for each row.
SELECT
    e.seq,
    e.xid,
    e.at,
    e.kind,
    e.queue_id,
    q.name AS queue,
    e.came_from,
    e.went_to,
    e.uow,
    e.actor,
    e.n,
    e.ids,
    (e.detail - 'stack')::text AS detail,
    CASE
        WHEN jsonb_typeof(e.detail -> 'error') = 'string' THEN e.detail ->> 'error'
    END AS error
FROM broker_event e
LEFT JOIN broker_queue q ON q.id = e.queue_id
WHERE
    e.xid >= (SELECT current_setting('archive.lo')::bigint)
    AND e.xid < (SELECT current_setting('archive.hi')::bigint)
    AND e.at >= (SELECT current_setting('archive.begin')::timestamptz)
    AND e.at < (SELECT current_setting('archive.end')::timestamptz)
ORDER BY e.xid, e.seq
