-- Lock a queue that made itself, so that it can be deleted.
--
-- One whose selector an administrator took away is theirs from then on.
--
-- Locks    the queue: whoever puts or moves something there has locked it before, and
--          then it is skipped.
-- Index    broker_queue_pkey
-- Returns  since when it was idle, as a scan found it; no row where somebody is about
--          to use it, or it is gone.
SELECT idle_since FROM broker_queue
WHERE id = %(queue_id)s::integer AND auto_created AND selector <> ''
FOR UPDATE SKIP LOCKED;
