-- End the sessions of a process: those named after it, and the one that holds its lock.
--
-- Locks    none. Each end is waited for, up to a second: its locks are free then.
-- Index    none: the views have a row for each session and each lock.
-- Returns  whether it has ended, for each session.
SELECT pg_terminate_backend(session.pid, 1000)
FROM pg_stat_activity AS session
WHERE session.datname = current_database() AND session.pid <> pg_backend_pid()
    AND (right(session.application_name, length(%(mark)s::text)) = %(mark)s::text
        OR session.pid IN (
            SELECT held.pid FROM pg_locks AS held
            WHERE held.locktype = 'advisory' AND held.granted
                AND held.database = session.datid
                AND held.classid = %(lock_class)s::integer::oid
                AND held.objid = %(owner_id)s::integer::oid));
