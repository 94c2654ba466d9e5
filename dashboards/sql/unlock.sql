-- Releases a lock that try_lock.sql took.
SELECT pg_advisory_unlock(%(space)s::integer, %(number)s::integer);
