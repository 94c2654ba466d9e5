-- Keep a queue from being deleted until the transaction ends, if it is there.
--
-- Locks    the queue, against its end; others may put, get and change it.
-- Index    one_queue_a_name
-- Returns  its id, and whether a scan found it idle; no row where nothing has the name.
SELECT id, idle_since IS NOT NULL FROM broker_queue WHERE name = %(queue)s::text FOR KEY SHARE;
