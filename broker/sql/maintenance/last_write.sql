-- Read the number of the last transaction that wrote and has ended, of any session.
--
-- Locks    none.
-- Index    none.
-- Returns  the number.
SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1;
