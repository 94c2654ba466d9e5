-- Delete the given messages that are on no queue, and not in the discard bin.
--
-- Locks    the messages.
-- Index    broker_message_pkey, broker_ready_pkey, broker_delayed_pkey,
--          broker_discarded_pkey, broker_annotations_pkey, broker_returned_pkey
-- Returns  the number of deleted messages.
WITH forgotten AS (
    DELETE FROM broker_message AS message
    WHERE id = ANY (%(ids)b::bigint[])
      AND NOT EXISTS (
          SELECT FROM broker_ready AS ready
          WHERE ready.queue_id = ANY (ARRAY(SELECT id::integer FROM broker_queue))
            AND ready.priority = ANY (ARRAY[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]::smallint[])
            AND ready.pos = ANY (ARRAY[message.id, message.id - 4611686018427387904]))
      AND NOT EXISTS (SELECT FROM broker_delayed WHERE broker_delayed.id = message.id)
      AND NOT EXISTS (SELECT FROM broker_claim WHERE ids @> ARRAY[message.id])
      AND NOT EXISTS (
          SELECT FROM broker_discarded WHERE broker_discarded.message_id = message.id)
    RETURNING id
),
annotations AS (
    DELETE FROM broker_annotations AS said USING forgotten
    WHERE said.message_id = forgotten.id
),
returned AS (
    DELETE FROM broker_returned AS said USING forgotten
    WHERE said.message_id = forgotten.id
)
SELECT count(*) FROM forgotten;
