-- Find rows that no statement of the broker writes. Check constraints would refuse them, and
-- would cost a tenth of the server's time for one message.
--
-- Order    by kind.
-- Locks    none.
-- Index    none: it reads everything.
-- Returns  the kind of the rows, as the end of a sentence, and their number.
SELECT * FROM (
    SELECT 'a message whose priority is not 0 to 9' AS what, id AS number FROM broker_message
    WHERE priority NOT BETWEEN 0 AND 9
    UNION ALL
    SELECT 'an entry that was backed out more often than it was delivered', id FROM (
        SELECT id, backout_count, delivery_count FROM broker_ready
        UNION ALL SELECT id, backout_count, delivery_count FROM broker_delayed
        UNION ALL SELECT unnest(ids), unnest(backout_counts), unnest(delivery_counts)
        FROM broker_claim
    ) AS entry
    WHERE backout_count > delivery_count
    UNION ALL
    SELECT 'a claim that holds nothing', uow FROM broker_claim WHERE cardinality(ids) = 0
    UNION ALL
    SELECT 'a claim whose arrays differ in length', uow FROM broker_claim
    WHERE cardinality(ids) <> ANY (ARRAY[cardinality(priorities), cardinality(backout_counts),
        cardinality(delivery_counts), cardinality(expiries)])
    UNION ALL
    SELECT 'a journal row that does not count its messages', seq FROM broker_event
    WHERE n <> cardinality(ids) OR n < 1
    UNION ALL
    SELECT 'a journal row without a place', seq FROM broker_event
    WHERE came_from IS NULL AND went_to IS NULL
) AS malformed
ORDER BY what, number
LIMIT %(limit)s::bigint;
