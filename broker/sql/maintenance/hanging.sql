-- Find which of some processes hang: they hold the lock of their owner, and have not used
-- its connection for some time.
--
-- Locks    none.
-- Index    broker_owner_pkey
-- Returns  the ids of their owners.
SELECT owner.id
FROM broker_owner AS owner
JOIN pg_locks AS held ON held.locktype = 'advisory' AND held.granted
    AND held.classid = %(lock_class)s::integer::oid AND held.objid = owner.id::oid
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
JOIN pg_stat_activity AS session ON session.pid = held.pid
WHERE owner.id = ANY (%(owners)b::bigint[]) AND owner.kind = %(owner_kind)s::text
    AND session.state_change < clock_timestamp() - %(silence)s::interval;
