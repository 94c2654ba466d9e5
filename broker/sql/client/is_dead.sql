-- Find out whether a process is dead: a live process holds the advisory lock of its id.
--
-- Locks    the advisory lock of a dead process, until this transaction ends.
-- Index    none.
-- Returns  a row if it is dead.
SELECT 1 WHERE pg_try_advisory_xact_lock(%(lock_class)s::integer, %(owner)s::integer);
