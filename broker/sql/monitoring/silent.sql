-- Find live processes that have not used the connection of their lock for some time.
--
-- Locks    none.
-- Index    none: the table holds a row for each process.
-- Returns  the fields of broker.monitoring.silent_processes.SilentProcess, by id.
SELECT owner.kind, owner.host, owner.pid,
    extract(epoch FROM clock_timestamp() - session.state_change)::float
FROM broker_owner AS owner
JOIN pg_locks AS held ON held.locktype = 'advisory' AND held.granted
    AND held.classid = %(lock_class)s::integer::oid AND held.objid = owner.id::oid
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
JOIN pg_stat_activity AS session ON session.pid = held.pid
WHERE owner.kind = ANY (%(kinds)b::text[])
    AND session.state_change < clock_timestamp() - %(silence)s::interval
ORDER BY owner.id;
