-- List the prepared units of work.
--
-- Order    the oldest first.
-- Locks    none.
-- Index    none: the table holds open units of work only.
-- Returns  the fields of broker.transactions.prepared.PreparedUnitOfWork.
SELECT xid, id, owner_id, started_at,
    (SELECT coalesce(sum(cardinality(ids)), 0) FROM broker_claim
     WHERE broker_claim.uow = work.id)::bigint,
    (SELECT count(*) FROM broker_prepared_put AS part
     WHERE part.uow = work.id AND part.fields ? 'address')
FROM broker_unit_of_work AS work
WHERE xid IS NOT NULL
ORDER BY id;
