-- Delete and return the stored puts of a prepared unit of work.
--
-- Order    of the puts.
-- Locks    the deleted rows.
-- Index    broker_prepared_put_pkey
-- Returns  the fields of broker.transactions.prepared.PreparedPart.
WITH taken AS (
    DELETE FROM broker_prepared_put WHERE uow = %(uow)s::bigint
    RETURNING ord, fields, body, headers, envelope
)
SELECT fields, body, headers, envelope FROM taken ORDER BY ord;
