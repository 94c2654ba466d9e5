-- Find units of work that the broker must back out: past their deadline, or of a dead
-- process. Prepared units of work wait for their coordinator; leases, which have no
-- process, wait for their deadline.
--
-- Order    the oldest first.
-- Locks    the units of work; entries locked by another transaction are skipped.
-- Index    none: the table holds open units of work only.
-- Returns  id, and whether its deadline passed (or else its owner died).
SELECT id,
    coalesce(deadline <= coalesce(%(now)s::timestamptz, statement_timestamp()), false)
FROM broker_unit_of_work AS work
WHERE xid IS NULL AND (
    deadline <= coalesce(%(now)s::timestamptz, statement_timestamp())
    OR owner_id = ANY (%(dead_owners)b::integer[])
    OR owner_id <> 0
       AND NOT EXISTS (SELECT FROM broker_owner WHERE id = work.owner_id))
ORDER BY id
LIMIT %(limit)s::bigint
FOR UPDATE SKIP LOCKED;
