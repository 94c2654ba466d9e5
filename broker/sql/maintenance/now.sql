-- The moment, by the clock that decides.
--
-- Locks    none.
-- Index    none.
-- Returns  it.
SELECT statement_timestamp();
