-- Find dead owners: a live owner holds the advisory lock of its id.
--
-- Locks    the advisory locks of the dead owners, until this transaction ends.
-- Index    none: the table holds a row for each process.
-- Returns  the ids of the dead owners.
SELECT id FROM broker_owner
WHERE pg_try_advisory_xact_lock(%(lock_class)s::integer, id);
