-- Read the last message id, and which open transactions may have put messages, for low
-- watermarks.
--
-- A put locks the table of messages before its first id, until its transaction ends. The
-- sequence is read before the locks; so whoever has an id up to that number, and is open, is
-- among them.
--
-- Locks    none.
-- Index    none.
-- Returns  the last message id; the virtual ids of the transactions; whether one of them is
--          prepared: its id is another one than before.
WITH sequence AS MATERIALIZED (SELECT last_value FROM broker_message_id_seq)
SELECT last_value, coalesce(array_agg(DISTINCT virtualtransaction)
    FILTER (WHERE virtualtransaction IS NOT NULL), '{}'), coalesce(bool_or(pid IS NULL)
    FILTER (WHERE virtualtransaction IS NOT NULL), false)
FROM sequence LEFT JOIN LATERAL (
    SELECT virtualtransaction, pid FROM pg_locks
    WHERE locktype = 'relation' AND relation = 'broker_message'::regclass
      AND mode = 'RowExclusiveLock' AND last_value >= 0
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
) AS putter ON true
GROUP BY last_value;
