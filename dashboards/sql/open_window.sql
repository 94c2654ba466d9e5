-- The journal between the ends of the one open window, complete and final, in an order
-- that gives the same file each time. Run through ADBC by dashboards.reports.bronze,
-- without parameters, so that it travels as one binary COPY.
SELECT
    1::smallint AS schema_version,
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
    e.detail::text AS detail
FROM broker_event e
LEFT JOIN broker_queue q ON q.id = e.queue_id
WHERE
    e.xid >= (SELECT lo FROM dashboards_exportwindow WHERE state = 'open')
    AND e.xid < (SELECT hi FROM dashboards_exportwindow WHERE state = 'open')
ORDER BY e.xid, e.seq
