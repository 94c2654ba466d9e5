-- Find the journal events of one message.
--
-- Order    of the events.
-- Locks    none.
-- Index    broker_event_ids
-- Returns  the fields of broker.queueing.journal.LifelineEvent.
SELECT seq, at, kind, queue_id, came_from, went_to, uow, actor, detail,
    array_position(ids, %(message_id)s::bigint) - 1
FROM broker_event
WHERE ids[1] <= %(message_id)s::bigint AND ids[cardinality(ids)] >= %(message_id)s::bigint
  AND ids @> ARRAY[%(message_id)s::bigint]
ORDER BY at, seq;
