-- List who is known to consume some queues: the ConnectionConsumers of live processes,
-- listeners whose clients get from it, live processes that hold an entry, and those whose
-- subscription the queue is.
--
-- Who asks from time to time, and holds nothing just now, is written down nowhere.
--
-- Order    by queue, then handler; at most one row for each process that only holds.
-- Locks    none: looking changes nothing.
-- Index    none: the tables hold a row for what runs just now.
-- Returns  the fields of broker.monitoring.explain.Consumer; and of queue 0 the live dispatchers.
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
