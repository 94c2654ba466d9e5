-- Count deaths of some groups in each of the last hours; 0 is the hour up to now.
--
-- Locks    none: it only reads.
-- Index    broker_dead_letter_fingerprint
-- Returns  fingerprint, how many hours ago, how many letters.
SELECT fingerprint, ago, sum(letters)::bigint
FROM (
    SELECT dead.fingerprint, dead.queue_id, count(*) AS letters,
        floor(date_part('epoch', at - dead.died_at) / 3600)::integer AS ago
    FROM coalesce(%(now)s::timestamptz, statement_timestamp()) AS at,
        unnest(%(fingerprints)b::text[]) AS named (fingerprint), LATERAL (
            SELECT * FROM broker_dead_letter AS letter
            WHERE letter.fingerprint = named.fingerprint OFFSET 0
        ) AS dead
    WHERE dead.died_at > at - %(hours)s::integer * interval '1 hour' AND dead.died_at <= at
    GROUP BY 1, 2, 4
    OFFSET 0  -- queues may be many: filter them after the fingerprints
) AS counted
WHERE queue_id = ANY (%(within)b::integer[])
GROUP BY 1, 2;
