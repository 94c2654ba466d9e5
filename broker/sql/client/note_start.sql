-- Note a unit of work that a handler begins, and when its rate allows the next message. A
-- start that came late may be made up for, up to a slack.
--
-- Locks    the state, which the caller has locked.
-- Index    broker_handlerlimit_pkey, broker_unit_of_work_pkey
-- Returns  the number of its open units of work.
UPDATE broker_handlerlimit
SET uows = ARRAY(SELECT id FROM broker_unit_of_work WHERE id = ANY (uows))
        || %(uow)s::bigint,
    next_at = greatest(next_at,
        coalesce(%(now)s::timestamptz, statement_timestamp()) - %(slack)s::interval)
        + %(takes)s::interval
WHERE id = %(limit_id)s::bigint
RETURNING cardinality(uows);
