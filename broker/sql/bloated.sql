-- Find hot tables with more dead rows than living ones, beyond a few.
--
-- Locks    none.
-- Index    none: the statistics of the server.
-- Returns  names.
SELECT relname::text FROM pg_stat_user_tables
WHERE relid = ANY (%(tables)b::text[]::regclass[]) AND n_dead_tup > %(few)s::bigint + n_live_tup / 2
ORDER BY relname;
