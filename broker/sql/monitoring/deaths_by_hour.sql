-- Count deaths in each of the last hours; 0 is the hour up to now.
--
-- Locks    none: it only reads.
-- Index    none: it reads every dead letter.
-- Returns  fingerprint, queue, how many hours ago, how many letters.
SELECT dead.fingerprint, dead.queue_id,
    floor(date_part('epoch', at - dead.died_at) / 3600)::integer, count(*)
FROM coalesce(%(now)s::timestamptz, statement_timestamp()) AS at, broker_dead_letter AS dead
WHERE dead.died_at > at - %(hours)s::integer * interval '1 hour' AND dead.died_at <= at
GROUP BY 1, 2, 3;
