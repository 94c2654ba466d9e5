-- Find hot tables that have a quarter as many dead rows as living ones, and a few more;
-- and those that are longer by a quarter, and a little, than their last vacuum left them:
-- rows are counted a second late.
--
-- Locks    none.
-- Index    none: the statistics of the server.
-- Returns  names.
SELECT relname::text FROM pg_stat_user_tables JOIN pg_class USING (relname)
WHERE relid = ANY (%(tables)b::text[]::regclass[]) AND relid = oid AND (
    n_dead_tup > %(few)s::bigint + n_live_tup / 4
    OR pg_relation_size(relid) / 8192 > %(pages)s::bigint + relpages * 1.25
)
ORDER BY relname;
