-- Read from what the policy of queues follows: their own settings, and the version of the
-- address settings, as in put_back.sql.
--
-- Locks    none.
-- Index    broker_queue_pkey, broker_address_pkey
-- Returns  for each queue that exists: the fields of
--          broker.settlement.settings_cache.QueueAttributes, and the version.
SELECT queue.*, version
FROM (
    SELECT coalesce(md5(string_agg(xmin::text || ctid::text, ' ' ORDER BY ctid)), '') AS version
    FROM broker_addresssetting
) AS settings, unnest(%(queue_ids)b::bigint[]) AS named (id), LATERAL (
    SELECT queue.id, backout_threshold, kind, address.name AS address
    FROM broker_queue AS queue JOIN broker_address AS address ON address.id = address_id
    WHERE queue.id = named.id OFFSET 0
) AS queue;
