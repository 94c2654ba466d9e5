-- Takes a lock of dashboards.pipeline.locks for this connection; false if another
-- connection holds it.
SELECT pg_try_advisory_lock(%(space)s::integer, %(number)s::integer);
