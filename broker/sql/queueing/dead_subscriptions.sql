-- Find the subscriptions of dead processes, except those with a consumer that holds
-- entries, and those shared with a live process.
--
-- Locks    none.
-- Index    none: the tables hold a row for each subscription and process.
-- Returns  their ids.
SELECT id FROM broker_subscription AS subscription
WHERE owner_id IS NOT NULL
  AND NOT EXISTS (SELECT FROM broker_owner WHERE id = subscription.owner_id)
  AND NOT EXISTS (SELECT FROM broker_claim WHERE queue_id = subscription.queue_id)
  AND NOT EXISTS (
    SELECT FROM broker_clientendpoint AS endpoint
    JOIN broker_clientconnection AS connection ON connection.id = endpoint.connection_id
    JOIN broker_owner AS owner ON owner.id = connection.owner_id
    WHERE endpoint.queue_id = subscription.queue_id)
ORDER BY id;
