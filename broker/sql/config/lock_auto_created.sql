-- Lock an auto-created queue for deletion.
--
-- A queue whose selector an administrator removed no longer counts as auto-created.
--
-- Locks    the queue. A transaction that puts or moves entries there locks it first; then
--          this statement skips the queue.
-- Index    broker_queue_pkey
-- Returns  the time since which an earlier scan found the queue idle; no row if the queue
--          is in use or gone.
SELECT idle_since FROM broker_queue
WHERE id = %(queue_id)s::integer AND auto_created AND selector <> ''
FOR UPDATE SKIP LOCKED;
