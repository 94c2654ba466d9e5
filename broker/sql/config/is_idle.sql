-- Whether a queue is idle: it has no entries, consumers, rules or discarded entries. One
-- statement reads all tables, so that no entry changes its table meanwhile.
--
-- Locks    none.
-- Index    broker_ready_pkey, broker_delayed_queue
-- Returns  whether it is idle.
SELECT NOT EXISTS (SELECT FROM broker_ready WHERE queue_id = %(queue_id)s::integer)
    AND NOT EXISTS (SELECT FROM broker_delayed WHERE queue_id = %(queue_id)s::integer)
    AND NOT EXISTS (SELECT FROM broker_claim WHERE queue_id = %(queue_id)s::integer)
    AND NOT EXISTS (SELECT FROM broker_subscription WHERE queue_id = %(queue_id)s::integer)
    AND NOT EXISTS (
        SELECT FROM broker_connectionconsumer AS consumer
        JOIN broker_owner AS owner ON owner.id = consumer.owner_id
        WHERE consumer.queue_id = %(queue_id)s::integer)
    AND NOT EXISTS (
        SELECT FROM broker_clientendpoint AS endpoint
        JOIN broker_clientconnection AS client ON client.id = endpoint.connection_id
        JOIN broker_owner AS owner ON owner.id = client.owner_id
        WHERE endpoint.queue_id = %(queue_id)s::integer)
    AND NOT EXISTS (SELECT FROM broker_ruletable WHERE queue_id = %(queue_id)s::integer)
    AND NOT EXISTS (SELECT FROM broker_discarded WHERE queue_id = %(queue_id)s::integer);
