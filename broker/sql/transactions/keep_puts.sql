-- Store the puts of a prepared unit of work, in order.
--
-- Locks    none.
-- Index    none; it only inserts.
-- Returns  the number of puts.
WITH kept AS (
    INSERT INTO broker_prepared_put (uow, ord, fields, body, headers, envelope)
    SELECT %(uow)s::bigint, part.ord - 1, part.fields::jsonb, part.body, part.headers,
        part.envelope
    FROM unnest(%(fields)b::text[], %(bodies)b::bytea[], %(headers)b::bytea[],
        %(envelopes)b::bytea[]) WITH ORDINALITY AS part (
        fields, body, headers, envelope, ord)
    RETURNING 1
)
SELECT count(*) FROM kept;
