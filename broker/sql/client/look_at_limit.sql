-- How long a handler's rate makes its next message wait, and how many of its units of work
-- are open. A unit of work of a dead process is open until it is backed out.
--
-- Locks    none; the caller has locked the state.
-- Index    broker_handlerlimit_pkey, broker_unit_of_work_pkey
-- Returns  seconds, below zero if it need not wait; and the number.
SELECT extract(epoch FROM next_at
        - coalesce(%(now)s::timestamptz, statement_timestamp()))::double precision,
    (SELECT count(*) FROM broker_unit_of_work WHERE id = ANY (uows))
FROM broker_handlerlimit WHERE id = %(limit_id)s::bigint;
