-- Note how far message ids have come, and which transactions have ended.
--
-- The transaction takes its own id after it has read the sequence: whoever has a message
-- id up to that number had a transaction id before.
--
-- Locks    none.
-- Index    none.
-- Returns  the last message id; this transaction's id; the oldest that is still open.
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
sequence AS MATERIALIZED (SELECT last_value FROM broker_message_id_seq, relaxed)
SELECT last_value, pg_current_xact_id()::text::bigint,
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint
FROM sequence;
