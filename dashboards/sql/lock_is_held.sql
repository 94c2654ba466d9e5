-- Whether any connection to this database has a lock of dashboards.pipeline.locks.
SELECT EXISTS (
    SELECT FROM pg_locks l
    JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
    WHERE
        l.locktype = 'advisory'
        AND l.classid = %(space)s::oid
        AND l.objid = %(number)s::oid
        AND l.objsubid = 2  -- a key of two integers
        AND l.granted
);
