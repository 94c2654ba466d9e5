-- Begin a leased unit of work: it belongs to no process, and ends at its deadline.
--
-- Locks    none.
-- Index    none; it only inserts.
-- Returns  the id of the unit of work, and its deadline.
INSERT INTO broker_unit_of_work (id, owner_id, started_at, deadline)
SELECT nextval('broker_unit_of_work_id_seq'), 0, began.at, began.at + %(lease_for)s::interval
FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at) AS began
RETURNING id, deadline;
