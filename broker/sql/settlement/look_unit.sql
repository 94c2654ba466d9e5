-- Read the entries of a unit of work, and from what the policy of their queues follows, as
-- in rules.sql. It stays as it is: put_back.sql or copy.sql ends it.
--
-- Locks    none.
-- Index    broker_claim_pkey, broker_queue_pkey, broker_address_pkey
-- Returns  the fields of broker.queueing.transfer.TakenEntry, by queue and id; then, with
--          the first entry of each queue that exists, the columns of rules.sql.
SELECT entry.*, policy.*
FROM (
    SELECT claim.queue_id, held.id, held.priority, held.backout_count, held.delivery_count,
        held.expires_at, coalesce(held.expires_at
            <= coalesce(%(now)s::timestamptz, statement_timestamp()), false) AS expired,
        row_number() OVER (PARTITION BY claim.queue_id ORDER BY held.id) AS n
    FROM broker_claim AS claim, unnest(claim.ids, claim.priorities, claim.backout_counts,
        claim.delivery_counts, claim.expiries) AS held (
        id, priority, backout_count, delivery_count, expires_at)
    WHERE claim.uow = %(uow)s::bigint
) AS entry LEFT JOIN LATERAL (
    SELECT queue.id, queue.backout_threshold, queue.kind, address.name, (
        SELECT coalesce(md5(string_agg(xmin::text || ctid::text, ' ' ORDER BY ctid)), '')
        FROM broker_addresssetting)
    FROM broker_queue AS queue JOIN broker_address AS address ON address.id = address_id
    WHERE queue.id = entry.queue_id AND entry.n = 1 OFFSET 0
) AS policy ON true
ORDER BY entry.queue_id, entry.id;
