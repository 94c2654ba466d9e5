-- List the known consumers of some queues: ConnectionConsumers of live processes,
-- listeners whose clients get from the queue, live processes that hold an entry, and the
-- owners of the queue's subscription.
--
-- A client that polls and holds no entry now is not recorded anywhere.
--
-- Order    by queue, then handler; at most one row for each process without handler.
-- Locks    none: it only reads.
-- Index    none: the tables are small.
-- Returns  the fields of broker.monitoring.explain.Consumer; and of queue 0 the live
--          dispatchers.
WITH alive AS MATERIALIZED (
    SELECT id, kind, kind || ' ' || pid || ' on ' || host AS process
    FROM broker_owner AS owner WHERE id IN (
        SELECT objid::bigint FROM pg_locks
        WHERE granted AND locktype = 'advisory'
          AND classid = %(lock_class)s::integer::oid
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
)
SELECT consumer.queue_id::integer, consumer.handler, consumer.selector,
    consumer.retains_unwanted, alive.process
FROM broker_connectionconsumer AS consumer JOIN alive ON alive.id = consumer.owner_id
WHERE consumer.queue_id = ANY (%(queue_ids)b::integer[])
UNION
SELECT endpoint.queue_id::integer, '', '', true, alive.process
FROM broker_clientendpoint AS endpoint
JOIN broker_clientconnection AS client ON client.id = endpoint.connection_id
JOIN alive ON alive.id = client.owner_id
WHERE endpoint.queue_id = ANY (%(queue_ids)b::integer[]) AND endpoint.kind = 'gets'
UNION
SELECT claim.queue_id, '', '', true, alive.process
FROM broker_claim AS claim JOIN broker_unit_of_work AS work ON work.id = claim.uow
JOIN alive ON alive.id = work.owner_id
WHERE claim.queue_id = ANY (%(queue_ids)b::integer[]) AND work.xid IS NULL
UNION
SELECT subscription.queue_id::integer, '', '', true, alive.process
FROM broker_subscription AS subscription JOIN alive ON alive.id = subscription.owner_id
WHERE subscription.queue_id = ANY (%(queue_ids)b::integer[])
UNION
SELECT 0, '', '', true, process FROM alive WHERE kind = 'dispatcher'
ORDER BY 1, 2, 3, 5;
