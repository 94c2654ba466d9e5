-- Read the last message id, and which transactions have ended, for low watermarks.
--
-- The transaction gets its own id after it has read the sequence. So any transaction with
-- a message id up to that number has a lower transaction id.
--
-- Locks    none.
-- Index    none.
-- Returns  the last message id; this transaction's id; the oldest open transaction's id.
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
sequence AS MATERIALIZED (SELECT last_value FROM broker_message_id_seq, relaxed)
SELECT last_value, pg_current_xact_id()::text::bigint,
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint
FROM sequence;
