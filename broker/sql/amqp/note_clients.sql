-- Write down what endpoints of clients did, and tell which clients are to be closed.
--
-- Locks    the rows of these endpoints, which their own process alone writes.
-- Index    broker_clientendpoint_pkey
-- Returns  whether it is an endpoint, its id or that of a connection.
WITH noted AS (
    UPDATE broker_clientendpoint AS endpoint
    SET credit = now.credit, unsettled = now.unsettled, messages = now.messages
    FROM unnest(%(ids)b::bigint[], %(credits)b::bigint[], %(unsettled)b::integer[],
        %(messages)b::bigint[]) AS now (id, credit, unsettled, messages)
    WHERE endpoint.id = now.id
)
SELECT false, id FROM broker_clientconnection
WHERE owner_id = %(owner_id)s::integer AND close_requested_at IS NOT NULL
UNION ALL
SELECT true, id FROM broker_clientendpoint WHERE close_requested_at IS NOT NULL;
