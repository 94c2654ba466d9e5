-- Takes a lock of dashboards.pipeline.locks for this connection, or says that another
-- has it.
SELECT pg_try_advisory_lock(%(space)s::integer, %(number)s::integer);
