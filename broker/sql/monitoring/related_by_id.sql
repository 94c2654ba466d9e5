-- Find messages that are related to one by their correlation ids: those with the same, the
-- answers to it, and the request that it answers; between two numbers, and the request by its
-- number.
--
-- These ids have no index, to keep puts cheap: all messages between the two numbers are read.
--
-- Order    the nearest first.
-- Locks    none: it only reads.
-- Index    broker_message_pkey
-- Returns  the fields of broker.monitoring.related.Neighbour.
SELECT id, number, relation FROM (
    SELECT id, coalesce(first_id, id) AS number,
        CASE WHEN correlation_id = ANY (%(names)b::text[]) THEN 'answer'
            WHEN message_id = %(correlation_id)s::text THEN 'request'
            ELSE 'correlation' END AS relation
    FROM broker_message
    WHERE id > %(after)s::bigint AND id <= %(before)s::bigint
      AND (correlation_id = ANY (%(names)b::text[])
          OR correlation_id = %(correlation_id)s::text
          OR message_id = %(correlation_id)s::text)
    UNION ALL
    SELECT id, coalesce(first_id, id), 'request' FROM broker_message
    WHERE id = %(request_id)s::bigint
) AS near
WHERE id <> ALL (%(ids)b::bigint[])
ORDER BY abs(id - %(message_id)s::bigint)
LIMIT %(limit)s::bigint;
