-- Claim an idempotency key, unless it was claimed before.
--
-- Locks    the key: a request with the same key waits for the end of this transaction.
-- Index    one_answer_a_key
-- Returns  a row if it was claimed now; else no row.
INSERT INTO broker_keptanswer (asker, key, digest, asked_at)
VALUES (%(asker)s::text, %(key)s::text, %(digest)b::bytea,
    coalesce(%(now)s::timestamptz, statement_timestamp()))
ON CONFLICT (asker, key) DO NOTHING
RETURNING id;
