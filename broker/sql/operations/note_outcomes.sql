-- Store the outcomes of copies in the ledger, each once, and add them to the results of
-- resubmits by error.
--
-- Locks    the items; the results of their errors, by fingerprint. The caller has locked
--          the operation's schedule, so that no other process writes these items.
-- Index    broker_operationitem_pkey, broker_dead_letter_pkey
-- Returns  the number of items.
WITH noted AS (
    UPDATE broker_operationitem AS item SET fate = known.fate, died_of = known.died_of
    FROM unnest(%(ids)b::bigint[], %(outcomes)b::smallint[], %(causes)b::text[]) AS known (
        id, fate, died_of)
    WHERE item.id = known.id AND item.fate IS NULL
    RETURNING item.message_id, item.queue_id, item.fate
),
learned AS (
    INSERT INTO broker_experience (fingerprint, processed, died, since, last_at)
    SELECT dead.fingerprint, count(*) FILTER (WHERE fate = 1),
        count(*) FILTER (WHERE fate = 2), own.at, own.at
    FROM noted, LATERAL (
            SELECT fingerprint FROM broker_dead_letter
            WHERE message_id = noted.message_id AND queue_id = noted.queue_id LIMIT 1
        ) AS dead, (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at) AS own
    WHERE %(resubmits)s::boolean AND fate IN (1, 2)
    GROUP BY dead.fingerprint, own.at
    ORDER BY dead.fingerprint
    ON CONFLICT (fingerprint) DO UPDATE
    SET processed = broker_experience.processed + excluded.processed,
        died = broker_experience.died + excluded.died, last_at = excluded.last_at
)
SELECT count(*) FROM noted;
