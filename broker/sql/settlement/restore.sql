-- Take one entry out of the discard bin, to put it back on its queue.
--
-- Locks    the entry of the bin: a second transaction that restores it finds it gone.
-- Index    broker_discarded_pkey
-- Returns  the fields of broker.queueing.transfer.TakenEntry; no row if it is not in the
--          bin, or past its retention.
WITH own AS (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS at
),
taken AS (
    DELETE FROM broker_discarded
    WHERE message_id = %(message_id)s::bigint AND queue_id = %(queue_id)s::integer
      AND keep_until > (SELECT at FROM own)
    RETURNING *
)
SELECT queue_id, message_id, priority, backout_count, delivery_count, expires_at,
    coalesce(expires_at <= own.at, false)
FROM taken, own;
