-- Read what a move of a message to a named queue follows from.
--
-- Locks    none: copy.sql compares policy and route, or the caller locks the queue.
-- Index    one_queue_a_name, broker_address_pkey, broker_queue_pkey, broker_event_ids
-- Returns  one row with the fields of broker.settlement.move_targets.MoveTarget; those of the
--          queue are NULL if there is none of this name.
SELECT to_queue.id, to_queue.name, to_queue.routing_type, to_queue.guarded, to_queue.address,
    (SELECT string_agg(concat_ws(' ', id, routing_type, name, selector), E'\n' ORDER BY id)
     FROM broker_queue WHERE address_id = to_queue.address_id),
    (SELECT coalesce(md5(string_agg(xmin::text || ctid::text, ' ' ORDER BY ctid)), '')
     FROM broker_addresssetting)
    || concat_ws(' ', origin.id, origin.backout_threshold, origin.kind, origin.address),
    coalesce(origin.name, ''),
    coalesce((SELECT detail ->> 'error' FROM broker_event
     WHERE ids[1] <= %(message_id)s::bigint AND ids[cardinality(ids)] >= %(message_id)s::bigint
       AND ids @> ARRAY[%(message_id)s::bigint]
       AND queue_id = %(queue_id)s::integer AND kind = %(back_out)s::smallint
     ORDER BY at DESC, seq DESC LIMIT 1), ''),
    one.at
FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at) AS one
LEFT JOIN (
    SELECT queue.*, address.name AS address
    FROM broker_queue AS queue JOIN broker_address AS address ON address.id = address_id
    WHERE queue.name = %(name)s::text
) AS to_queue ON true
LEFT JOIN (
    SELECT queue.id, queue.name, backout_threshold, kind, address.name AS address
    FROM broker_queue AS queue JOIN broker_address AS address ON address.id = address_id
    WHERE queue.id = %(queue_id)s::integer
) AS origin ON true;
