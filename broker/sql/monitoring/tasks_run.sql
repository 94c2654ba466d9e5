-- Count attempts of tasks that ended lately, by name and queue, with their durations.
--
-- Read are the newest transactions up to a limit, and no further back than a time.
--
-- Locks    none: it only reads.
-- Index    broker_event_xid, broker_message_pkey
-- Returns  the fields of broker.monitoring.tasks.TasksRun.
SELECT left(message.properties ->> 'task', 200), ended.queue_id,
    count(*) FILTER (WHERE ended.held_ms IS NOT NULL),
    count(*) FILTER (WHERE ended.held_ms IS NULL),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY ended.held_ms),
    percentile_cont(0.95) WITHIN GROUP (ORDER BY ended.held_ms)
FROM (
    SELECT queue_id, held_ms, unnest(ids) AS id FROM broker_event
    WHERE xid > pg_snapshot_xmax(pg_current_snapshot())::text::bigint
            - %(transactions)s::bigint
        AND at > coalesce(%(now)s::timestamptz, statement_timestamp()) - %(span)s::interval
        AND queue_id = ANY (%(queue_ids)b::integer[])
        AND (held_ms IS NOT NULL OR kind = ANY (%(failures)b::integer[]))
        AND came_from = 2
) AS ended, LATERAL (
    SELECT properties FROM broker_message WHERE id = ended.id OFFSET 0
) AS message
WHERE message.properties ? 'task'
GROUP BY 1, 2;
