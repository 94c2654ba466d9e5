-- Find invalid entries of the discard bin: they are also on a queue, have another outcome
-- in the journal, or their message is deleted.
--
-- Order    by queue and message.
-- Locks    none.
-- Index    none: it reads everything.
-- Returns  queue, message, and the fault as the end of a sentence.
WITH placed AS (
    SELECT queue_id, id FROM broker_ready
    UNION ALL SELECT queue_id, id FROM broker_delayed
    UNION ALL SELECT queue_id, unnest(ids) FROM broker_claim
),
ended AS (
    SELECT DISTINCT ON (queue_id, id) queue_id, id, kind
    FROM broker_event, unnest(ids) AS id
    WHERE went_to IS NULL OR came_from IS NULL AND kind IN (11, 15)
    ORDER BY queue_id, id, at DESC, seq DESC
)
SELECT queue_id, message_id, why FROM (
    SELECT bin.queue_id, bin.message_id, 'also on that queue' AS why
    FROM broker_discarded AS bin
    JOIN placed ON placed.queue_id = bin.queue_id AND placed.id = bin.message_id
    UNION ALL
    SELECT bin.queue_id, bin.message_id, 'its journal does not say so'
    FROM broker_discarded AS bin
    JOIN ended ON ended.queue_id = bin.queue_id AND ended.id = bin.message_id
    WHERE ended.kind NOT IN (9, 18)
    UNION ALL
    SELECT bin.queue_id, bin.message_id, 'its message is gone'
    FROM broker_discarded AS bin
    WHERE NOT EXISTS (SELECT FROM broker_message WHERE broker_message.id = bin.message_id)
) AS wrong
ORDER BY queue_id, message_id, why
LIMIT %(limit)s::bigint;
