-- The events of a range of transaction ids and times, complete and final, in the order in
-- which they are stored. Run through ADBC by dashboards.pipeline.bronze. It has no
-- parameters, so ADBC sends it as one binary COPY: the bounds are settings of the
-- connection, see bounds.sql. They are read in subqueries: once, and not for each row.
-- A column takes as long as some arithmetic does. So small numbers are one column, and
-- dashboards.pipeline.fields.event_fields adds the names of queues and the number of ids.
--   codes  32 bits of the queue's id, 16 of the kind, 8 of came_from, 8 of went_to; the
--          places begin with 1, so 0 is null
SELECT
    e.seq,
    e.xid,
    e.at,
    (e.queue_id::bigint << 32)
    | (e.kind::bigint << 16)
    | (coalesce(e.came_from, 0)::bigint << 8)
    | coalesce(e.went_to, 0)::bigint AS codes,
    e.uow,
    e.actor,
    e.ids,
    (e.detail - 'stack')::text AS detail,
    CASE
        WHEN jsonb_typeof(e.detail -> 'error') = 'string' THEN e.detail ->> 'error'
    END AS error
FROM broker_event e
WHERE
    e.xid >= (SELECT current_setting('archive.lo')::bigint)
    AND e.xid < (SELECT current_setting('archive.hi')::bigint)
    AND e.at >= (SELECT current_setting('archive.begin')::timestamptz)
    AND e.at < (SELECT current_setting('archive.end')::timestamptz)
