-- Lock the queues of an address, or one of them, against deletion until the transaction
-- ends.
--
-- Order    by id.
-- Locks    the queues, against deletion; others may put, get and change them.
-- Index    one_address_a_name
-- Returns  the fields of broker.queueing.routing.Taker; a single queue is returned
--          without its selector.
SELECT queue.id, queue.routing_type,
    CASE WHEN %(only_queue)s::text IS NULL THEN queue.selector ELSE '' END, queue.name
FROM broker_queue AS queue
WHERE queue.address_id = (SELECT id FROM broker_address WHERE name = %(address)s::text)
  AND queue.name = coalesce(%(only_queue)s::text, queue.name)
ORDER BY queue.id
FOR KEY SHARE OF queue;
