-- The time, by the database's clock.
--
-- Locks    none.
-- Index    none.
-- Returns  the time.
SELECT statement_timestamp();
