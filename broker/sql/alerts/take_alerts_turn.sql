-- Let one transaction at a time evaluate the rules of alerts.
--
-- Locks    an advisory lock, until the transaction ends; never waits.
-- Index    none.
-- Returns  whether it is this transaction's turn, and the time.
SELECT pg_try_advisory_xact_lock(%(lock_class)s::integer, 0), statement_timestamp();
