-- Lock the state of a handler's limits, so that one process at a time begins its work. A
-- statement after this sees all work that was begun before.
--
-- Locks    the state, until the transaction ends.
-- Index    one_limit_a_handler
-- Returns  the id of the state; no row if its queue is gone.
SELECT id, set_config('synchronous_commit', coalesce(%(synchronous_commit)s::text,
    current_setting('synchronous_commit')), true)
FROM broker_handlerlimit
WHERE queue_id = %(queue_id)s::integer AND handler = %(handler)s::text
FOR UPDATE;
