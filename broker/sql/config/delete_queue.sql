-- Delete a queue that the caller has locked and found idle, with all rows that refer to it.
--
-- Locks    the deleted rows.
-- Index    broker_queue_pkey
-- Returns  the name of the deleted queue.
WITH bindings AS (
    DELETE FROM broker_binding WHERE queue_id = %(queue_id)s::integer
),
sessions AS (
    DELETE FROM broker_connectionconsumer WHERE queue_id = %(queue_id)s::integer
),
stoppages AS (
    DELETE FROM broker_stoppage WHERE queue_id = %(queue_id)s::integer
),
resets AS (
    DELETE FROM broker_counterreset WHERE queue_id = %(queue_id)s::integer
),
endpoints AS (
    DELETE FROM broker_clientendpoint WHERE queue_id = %(queue_id)s::integer
),
passes AS (
    DELETE FROM broker_rulepass WHERE table_id IN (
        SELECT id FROM broker_ruletable WHERE queue_id = %(queue_id)s::integer)
),
rules AS (
    DELETE FROM broker_ruletable WHERE queue_id = %(queue_id)s::integer
),
subscriptions AS (
    DELETE FROM broker_subscription WHERE queue_id = %(queue_id)s::integer
)
DELETE FROM broker_queue WHERE id = %(queue_id)s::integer RETURNING name;
