-- Give a unit of work the name under which its coordinator ends it; with no unit of
-- work, begin one that holds nothing.
--
-- Locks    the unit of work: of two who end or prepare it, one finds it gone or named.
-- Index    broker_unit_of_work_pkey
-- Returns  its id; no row where it had ended before or is prepared already. Whether it
--          holds what its holder believes is for its caller to try.
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
