-- Prepare a unit of work: store the coordinator's transaction id. Without a unit of work,
-- begin an empty one.
--
-- Locks    the unit of work: a second transaction that ends or prepares it finds it gone or
--          prepared.
-- Index    broker_unit_of_work_pkey
-- Returns  the id of the unit of work; no row if it has ended or is prepared already. The
--          caller must check that it holds the expected entries.
WITH named AS (
    UPDATE broker_unit_of_work SET xid = %(xid)s::text
    WHERE id = %(uow)s::bigint AND xid IS NULL
    RETURNING id
),
opened AS (
    INSERT INTO broker_unit_of_work (id, owner_id, started_at, deadline, xid)
    SELECT nextval('broker_unit_of_work_id_seq'), %(owner)s::integer, own.at, own.at,
        %(xid)s::text
    FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at) AS own
    WHERE %(uow)s::bigint IS NULL
    RETURNING id
)
SELECT id FROM named UNION ALL SELECT id FROM opened;
