-- List open units of work that hold entries or have a deadline or an xid, with owner and
-- times. A live owner holds the advisory lock of its id.
--
-- Order    the oldest first; from a cursor on.
-- Locks    none: it only reads.
-- Index    broker_unit_of_work_pkey, broker_claim_pkey
-- Returns  the fields of broker.transactions.administration.OpenUnit.
WITH lock AS MATERIALIZED (
    SELECT objid::bigint AS owner_id FROM pg_locks
    WHERE granted AND locktype = 'advisory' AND classid = %(lock_class)s::integer::oid
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
),
found AS MATERIALIZED (
    SELECT work.*, held.* FROM broker_unit_of_work AS work, LATERAL (
        SELECT coalesce(sum(cardinality(ids)), 0)::bigint AS entries,
            coalesce(array_agg(DISTINCT queue_id), '{}') AS queue_ids,
            min(claimed_at) AS held_since, min(ids[1]) AS first
        FROM broker_claim WHERE uow = work.id OFFSET 0
    ) AS held
    WHERE work.id >= %(first)s::bigint AND (entries > 0 OR work.deadline IS NOT NULL OR work.xid IS NOT NULL)
      AND (%(within)s::integer[] IS NULL OR queue_ids && %(within)s::integer[])
    ORDER BY work.id
    LIMIT %(limit)s::bigint
)
SELECT found.id, found.xid, found.started_at, found.deadline, found.owner_id,
    coalesce(owner.kind, ''), coalesce(owner.pid || ' on ' || owner.host, ''),
    EXISTS (SELECT FROM lock WHERE owner_id = found.owner_id),
    found.held_since, found.entries, found.queue_ids, coalesce((
        SELECT event.actor FROM broker_event AS event
        WHERE event.ids[1] <= found.first
          AND event.ids[cardinality(event.ids)] >= found.first
          AND event.ids @> ARRAY[found.first] AND event.uow = found.id
        ORDER BY event.seq DESC LIMIT 1), ''),
    (SELECT count(*) FROM broker_prepared_put AS part
     WHERE part.uow = found.id AND part.fields ? 'address'), found.puts,
    coalesce(%(now)s::timestamptz, statement_timestamp())
FROM found LEFT JOIN broker_owner AS owner ON owner.id = found.owner_id
ORDER BY found.id;
