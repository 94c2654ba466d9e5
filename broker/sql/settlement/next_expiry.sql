-- Find the time until the next ready or delayed entry of any queue expires.
--
-- Locks    none.
-- Index    broker_ready_expiry
-- Returns  the interval, by the database's clock: negative if it is past, null if no entry
--          expires.
SELECT least(
    (SELECT expires_at FROM broker_ready WHERE expires_at IS NOT NULL
     ORDER BY expires_at LIMIT 1),
    (SELECT expires_at FROM broker_delayed WHERE expires_at IS NOT NULL
     ORDER BY expires_at LIMIT 1)
) - clock_timestamp();
