-- Read the policy of queues: their own settings, and the address settings that may match.
--
-- Locks    none.
-- Index    broker_queue_pkey, broker_address_pkey
-- Returns  for each queue that exists: its id, address, threshold and kind, and the
--          settings in the order of their patterns.
SELECT queue.id, queue.address, queue.backout_threshold, queue.kind, ARRAY(
    SELECT to_jsonb(setting) FROM broker_addresssetting AS setting
    -- The part of the pattern before any wildcard; letters and digits are no wildcards.
    WHERE queue.address ^@ substring(match FROM '^[[:alnum:]]*')
    ORDER BY match)
FROM unnest(%(queue_ids)b::bigint[]) AS named (id), LATERAL (
    SELECT queue.id, address.name AS address, backout_threshold, kind
    FROM broker_queue AS queue JOIN broker_address AS address ON address.id = address_id
    WHERE queue.id = named.id OFFSET 0
) AS queue;
