-- Find the oldest ready entry of each queue, and count delayed entries that should be ready
-- by now, up to a limit.
--
-- A loose index scan finds the lanes of each queue. The oldest entry of a lane is the first
-- of its backed-out entries, or of its new entries.
--
-- Locks    none: it only reads.
-- Index    broker_ready_pkey, broker_delayed_queue, broker_message_pkey
-- Returns  the fields of broker.monitoring.wait_times.QueueWait, for each queue.
SELECT wanted.queue_id, (
        WITH RECURSIVE lane AS (
            (SELECT priority FROM broker_ready WHERE queue_id = wanted.queue_id
            ORDER BY priority DESC, pos DESC LIMIT 1)
            UNION ALL
            SELECT next.priority FROM lane, LATERAL (
                SELECT priority FROM broker_ready
                WHERE queue_id = wanted.queue_id AND priority < lane.priority
                ORDER BY priority DESC, pos DESC LIMIT 1
            ) AS next
        )
        SELECT min(message.put_at)
        FROM lane,
            unnest(ARRAY[-9223372036854775807, 0]) AS low,
            LATERAL (
                SELECT id FROM broker_ready
                WHERE queue_id = wanted.queue_id
                  AND broker_ready.priority = lane.priority
                  AND pos >= low
                ORDER BY pos LIMIT 1
            ) AS head,
            LATERAL (
                SELECT put_at FROM broker_message WHERE id = head.id OFFSET 0
            ) AS message),
    late.entries, late.due_at
FROM unnest(%(queue_ids)b::integer[]) AS wanted (queue_id), LATERAL (
    SELECT count(*) AS entries, min(due_at) AS due_at FROM (
        SELECT due_at FROM broker_delayed
        WHERE queue_id = wanted.queue_id
          AND due_at < coalesce(%(now)s::timestamptz, statement_timestamp())
              - %(patience)s::interval
        ORDER BY due_at LIMIT %(limit)s::bigint
    ) AS due
) AS late;
