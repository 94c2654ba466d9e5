-- Find hot tables with few live rows that hold many dead ones after a vacuum, as an old
-- transaction keeps them, or that take much more space than their rows need.
--
-- A table is left out if another transaction has used it for a tenth of a second: waiting for
-- its lock would be in vain.
--
-- Locks    none.
-- Index    none: the statistics of the server.
-- Returns  names of tables.
SELECT relname::text FROM pg_stat_user_tables
WHERE relid = ANY (%(tables)b::text[]::regclass[])
  AND vacuum_count + autovacuum_count > 0
  AND n_live_tup <= %(most_live)s::bigint
  AND (n_dead_tup > %(many_dead)s::bigint + n_live_tup
    OR n_dead_tup <= %(few)s::bigint + n_live_tup / 4
      AND pg_total_relation_size(relid) > %(allowed)s::bigint + n_live_tup * %(row_bytes)s::bigint)
  AND NOT EXISTS (
    SELECT FROM pg_locks LEFT JOIN pg_stat_activity AS session USING (pid)
    WHERE relation = relid AND granted
      AND (pid IS NULL OR xact_start < statement_timestamp() - interval '100 ms'))
ORDER BY relname;
