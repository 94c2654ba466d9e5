-- Begin a unit of work that holds nothing yet, and has no deadline: it lives as long as
-- its owner, or until it is ended.
--
-- Locks    none.
-- Index    broker_owner_pkey
-- Returns  its id; no row where the owner is no more.
INSERT INTO broker_unit_of_work (id, owner_id, started_at)
SELECT nextval('broker_unit_of_work_id_seq'), %(owner)s::integer,
    coalesce(%(now)s::timestamptz, statement_timestamp())
WHERE EXISTS (SELECT FROM broker_owner WHERE id = %(owner)s::integer)
RETURNING id;
