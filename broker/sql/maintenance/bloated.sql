-- Find hot tables with more dead rows than a quarter of the live ones, plus a few; and
-- tables that have grown by more than a quarter, plus a few pages, since their last vacuum,
-- because row counts are a second old.
--
-- Locks    none.
-- Index    none: the statistics of the server.
-- Returns  names of tables.
SELECT relname::text FROM pg_stat_user_tables JOIN pg_class USING (relname)
WHERE relid = ANY (%(tables)b::text[]::regclass[]) AND relid = oid AND (
    n_dead_tup > %(few)s::bigint + n_live_tup / 4
    OR pg_relation_size(relid) / 8192 > %(pages)s::bigint + relpages * 1.25
)
ORDER BY relname;
