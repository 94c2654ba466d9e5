-- Find what was put by the units of work that accepted a message, and what was accepted by
-- that which put it. The puts and the accepts of a unit of work are one transaction.
--
-- Order    by number.
-- Locks    none: it only reads.
-- Index    broker_event_ids, broker_event_xid
-- Returns  the fields of broker.monitoring.related.Neighbour.
WITH own AS MATERIALIZED (
    SELECT DISTINCT xid, uow, kind FROM unnest(%(ids)b::bigint[]) AS one (id), LATERAL (
        SELECT xid, uow, kind FROM broker_event
        WHERE ids[1] <= one.id AND ids[cardinality(ids)] >= one.id
          AND ids @> ARRAY[one.id] AND kind IN (1, 3) AND uow IS NOT NULL OFFSET 0
    ) AS event
),
other AS MATERIALIZED (
    SELECT DISTINCT same.id, CASE own.kind WHEN 3 THEN 'effect' ELSE 'cause' END AS relation
    FROM own, LATERAL (
        SELECT unnest(ids) AS id FROM broker_event
        WHERE broker_event.xid = own.xid AND broker_event.uow = own.uow
          AND broker_event.kind = 4 - own.kind OFFSET 0
    ) AS same
    WHERE same.id <> ALL (%(ids)b::bigint[])
    ORDER BY 1 LIMIT %(limit)s::bigint
)
SELECT other.id, coalesce((SELECT first_id FROM broker_message WHERE id = other.id), other.id)
    AS number, relation
FROM other ORDER BY other.id;
