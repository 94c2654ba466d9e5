-- Read the next ready entries of one queue, and choose those that match a selector.
--
-- Order    of gets, from a position in each lane on.
-- Locks    none: a chosen entry may be gone before the get.
-- Index    broker_ready_pkey, broker_message_pkey
-- Returns  the fields of broker.queueing.selective_get.SelectorScan. Documents are those of
--          broker.formats.selectors.document, and only where no path decides; descriptors
--          and envelopes, whose values no path reads, likewise.
WITH queue AS MATERIALIZED (
    SELECT id FROM broker_queue
    WHERE name = %(queue)s::text AND (NOT paused OR %(though_paused)s::boolean)
),
wanted AS MATERIALIZED (SELECT %(path)s::jsonpath AS path),  -- parsed only once
seen AS MATERIALIZED (
    SELECT lane.number::integer AS lane, found.*
    FROM unnest(%(priorities)b::smallint[], %(lows)b::bigint[], %(highs)b::bigint[])
        WITH ORDINALITY AS lane (priority, low, high, number),
    LATERAL (
        SELECT priority, pos, id, backout_count, expires_at FROM broker_ready AS ready
        WHERE ready.queue_id = (SELECT id FROM queue)
          AND ready.priority = lane.priority
          AND ready.pos >= lane.low AND ready.pos < lane.high
        ORDER BY ready.pos
        LIMIT %(scan)s::bigint
    ) AS found
    LIMIT %(scan)s::bigint
),
chosen AS (
    SELECT seen.lane, seen.pos, message.*
    FROM seen,
    -- LIMIT makes this one index lookup for each entry, which stops at the last wanted
    -- entry.
    LATERAL (
        SELECT properties || jsonb_build_object(
            'AMQAddress', address,
            'AMQDurable', CASE WHEN durable THEN 'DURABLE' ELSE 'NON_DURABLE' END,
            'JMSMessageID', coalesce(message_id, 'ID:' || (descriptor ->> 'msg_id'),
                %(made_prefix)s::text || lpad(to_hex(id), 16, '0')),
            'JMSCorrelationID', correlation_id,
            'JMSType', subject,
            'JMSXGroupID', group_id,
            'JMSPriority', seen.priority,
            'JMSDeliveryMode',
            CASE WHEN durable THEN 'PERSISTENT' ELSE 'NON_PERSISTENT' END,
            'JMSTimestamp', floor(extract(epoch FROM put_at) * 1000),
            'JMSExpiration', coalesce(floor(extract(epoch FROM seen.expires_at) * 1000), 0),
            'JMSXDeliveryCount', seen.backout_count + 1,
            'JMSRedelivered', seen.backout_count > 0) AS document,
            descriptor, envelope
        FROM broker_message WHERE id = seen.id LIMIT 1
    ) AS message
    WHERE (seen.expires_at IS NULL
           OR seen.expires_at > coalesce(%(now)s::timestamptz, statement_timestamp()))
      AND coalesce(jsonb_path_match(
          message.document, (SELECT path FROM wanted), '{}', true),
          %(path)s::text IS NULL)
    LIMIT %(limit)s::bigint
)
SELECT EXISTS (SELECT FROM queue), (SELECT count(*) FROM seen),
    (SELECT max(lane) FROM seen),
    (SELECT max(pos) FROM seen WHERE lane = (SELECT max(lane) FROM seen)),
    coalesce(array_agg(lane ORDER BY lane, pos), '{}'),
    coalesce(array_agg(pos ORDER BY lane, pos), '{}'),
    coalesce(array_agg(CASE WHEN %(path)s::text IS NULL THEN document END
        ORDER BY lane, pos), '{}'),
    coalesce(array_agg(CASE WHEN %(path)s::text IS NULL THEN descriptor END
        ORDER BY lane, pos), '{}'),
    coalesce(array_agg(CASE WHEN %(path)s::text IS NULL THEN envelope END
        ORDER BY lane, pos), '{}')
FROM chosen;
