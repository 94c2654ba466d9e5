-- Find hot tables that have a quarter as many dead rows as living ones, and a few more.
--
-- Locks    none.
-- Index    none: the statistics of the server.
-- Returns  names.
SELECT relname::text FROM pg_stat_user_tables
WHERE relid = ANY (%(tables)b::text[]::regclass[]) AND n_dead_tup > %(few)s::bigint + n_live_tup / 4
ORDER BY relname;
