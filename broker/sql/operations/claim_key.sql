-- Take the key of a request, unless it has been taken before.
--
-- Locks    the key: who comes with the same waits for the end of this transaction.
-- Index    one_answer_a_key
-- Returns  a row if it was taken; none where somebody had it.
INSERT INTO broker_keptanswer (asker, key, digest, asked_at)
VALUES (%(asker)s::text, %(key)s::text, %(digest)b::bytea,
    coalesce(%(now)s::timestamptz, statement_timestamp()))
ON CONFLICT (asker, key) DO NOTHING
RETURNING id;
