-- Find rows that refer to a row that does not exist.
--
-- Order    by kind.
-- Locks    none.
-- Index    none: it reads everything.
-- Returns  the kind of the rows, as the end of a sentence, and their number.
WITH entry AS (
    SELECT queue_id, id FROM broker_ready
    UNION ALL SELECT queue_id, id FROM broker_delayed
    UNION ALL SELECT queue_id, unnest(ids) FROM broker_claim
)
SELECT * FROM (
    SELECT 'an entry without its message' AS what, entry.id AS number FROM entry
    WHERE NOT EXISTS (SELECT FROM broker_message WHERE broker_message.id = entry.id)
    UNION ALL
    SELECT 'an entry on a queue that does not exist', entry.id FROM entry
    WHERE NOT EXISTS (SELECT FROM broker_queue WHERE broker_queue.id = entry.queue_id)
    UNION ALL
    SELECT 'a claim without its unit of work', uow FROM broker_claim
    WHERE NOT EXISTS (
        SELECT FROM broker_unit_of_work WHERE broker_unit_of_work.id = broker_claim.uow)
    UNION ALL
    SELECT 'an annotation without its message', message_id FROM broker_annotations
    WHERE NOT EXISTS (
        SELECT FROM broker_message WHERE broker_message.id = broker_annotations.message_id)
    UNION ALL
    SELECT 'a copy that the journal names and nobody put', id FROM (
        SELECT jsonb_array_elements_text(detail -> 'copies')::bigint AS id
        FROM broker_event WHERE detail ? 'copies'
        EXCEPT
        SELECT unnest(ids) FROM broker_event WHERE kind = 1
    ) AS named
) AS orphans
ORDER BY what, number
LIMIT %(limit)s::bigint;
