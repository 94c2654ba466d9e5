-- Begin an empty unit of work; it ends with its owner at the latest.
--
-- Locks    none.
-- Index    broker_owner_pkey
-- Returns  the id of the unit of work; no row if the owner no longer exists.
INSERT INTO broker_unit_of_work (id, owner_id, started_at, deadline, puts)
SELECT nextval('broker_unit_of_work_id_seq'), %(owner)s::integer, began.at,
    began.at + %(timeout)s::interval, %(puts)s::integer
FROM (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) - %(age)s::interval AS at
) AS began
WHERE EXISTS (SELECT FROM broker_owner WHERE id = %(owner)s::integer)
RETURNING id;
