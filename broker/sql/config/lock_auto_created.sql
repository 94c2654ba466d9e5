-- Lock an auto-created queue for deletion.
--
-- A queue whose selector an administrator removed no longer counts as auto-created.
--
-- Locks    the queue. A transaction that puts or moves entries there locks it first; then
--          it is skipped.
-- Index    broker_queue_pkey
-- Returns  since when it is idle, by an earlier scan; no row if it is in use or gone.
SELECT idle_since FROM broker_queue
WHERE id = %(queue_id)s::integer AND auto_created AND selector <> ''
FOR UPDATE SKIP LOCKED;
