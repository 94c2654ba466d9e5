-- Find hot tables that take much more space than their rows need, though dead rows were
-- vacuumed: they have grown while an old transaction kept dead rows.
--
-- Locks    none.
-- Index    none: the statistics of the server.
-- Returns  names of tables.
SELECT relname::text FROM pg_stat_user_tables
WHERE relid = ANY (%(tables)b::text[]::regclass[])
  AND vacuum_count + autovacuum_count > 0
  AND n_dead_tup <= %(few)s::bigint + n_live_tup / 4
  AND pg_total_relation_size(relid) > %(allowed)s::bigint + n_live_tup * %(row_bytes)s::bigint
ORDER BY relname;
