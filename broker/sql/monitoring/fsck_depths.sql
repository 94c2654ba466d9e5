-- Count the entries of every queue by state.
--
-- Order    none.
-- Locks    none.
-- Index    none: it reads everything.
-- Returns  queue, ready, claimed, delayed.
SELECT queue_id, sum(ready)::bigint, sum(claimed)::bigint, sum(delayed)::bigint
FROM (
    SELECT queue_id, count(*) AS ready, 0 AS claimed, 0 AS delayed
    FROM broker_ready GROUP BY queue_id
    UNION ALL
    SELECT queue_id, 0, sum(cardinality(ids)), 0 FROM broker_claim GROUP BY queue_id
    UNION ALL
    SELECT queue_id, 0, 0, count(*) FROM broker_delayed GROUP BY queue_id
) AS places
GROUP BY queue_id;
