-- Store the counts of clients' endpoints, and find which clients to close.
--
-- Locks    the rows of these endpoints, which only their own process writes.
-- Index    broker_clientendpoint_pkey
-- Returns  whether the row to close is an endpoint; the id of the endpoint or connection.
WITH noted AS (
    UPDATE broker_clientendpoint AS endpoint
    SET credit = now.credit, unsettled = now.unsettled, messages = now.messages,
        busy_percent = now.busy, uncommitted = now.uncommitted
    FROM unnest(%(ids)b::bigint[], %(credits)b::bigint[], %(unsettled)b::integer[],
        %(messages)b::bigint[], %(busy)b::smallint[], %(uncommitted)b::integer[])
        AS now (id, credit, unsettled, messages, busy, uncommitted)
    WHERE endpoint.id = now.id
)
SELECT false, id FROM broker_clientconnection
WHERE owner_id = %(owner_id)s::integer AND close_requested_at IS NOT NULL
UNION ALL
SELECT true, id FROM broker_clientendpoint WHERE close_requested_at IS NOT NULL;
