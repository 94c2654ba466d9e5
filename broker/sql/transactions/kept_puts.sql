-- Take away what a prepared unit of work was to do, and read it.
--
-- Order    as it is to be done.
-- Locks    the rows, which are gone.
-- Index    broker_prepared_put_pkey
-- Returns  the fields of broker.transactions.prepared.Part.
WITH taken AS (
    DELETE FROM broker_prepared_put WHERE uow = %(uow)s::bigint
    RETURNING ord, fields, body, headers, envelope
)
SELECT fields, body, headers, envelope FROM taken ORDER BY ord;
