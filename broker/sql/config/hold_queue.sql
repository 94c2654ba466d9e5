-- Lock a queue, if it exists, against deletion until the transaction ends.
--
-- Locks    the queue, against deletion; others may put, get and change it.
-- Index    one_queue_a_name
-- Returns  its id, and whether a scan found it idle; no row if there is no such queue.
SELECT id, idle_since IS NOT NULL FROM broker_queue WHERE name = %(queue)s::text FOR KEY SHARE;
