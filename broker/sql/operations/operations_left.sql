-- Find out whether an operation has items left to work on, or copies to look up, or is a
-- plan whose time to start has come; and whether the patch of a plan is not fully tested.
--
-- Locks    none.
-- Index    none: the tables hold a row for each operation.
-- Returns  one row with the two answers.
SELECT EXISTS (
    SELECT FROM broker_operation AS operation
    LEFT JOIN broker_course AS schedule ON schedule.operation_id = operation.id
    WHERE operation.state = 'running' AND schedule.paused_at IS NULL
      AND schedule.stage IS DISTINCT FROM 'halted'
) OR EXISTS (
    SELECT FROM broker_course AS schedule
    JOIN broker_operation AS operation ON operation.id = schedule.operation_id
    WHERE schedule.settled_at IS NULL AND operation.state <> 'planned'
      AND (schedule.look_at IS NULL
        OR schedule.look_at <= coalesce(%(now)s::timestamptz, statement_timestamp()))
) OR EXISTS (
    SELECT FROM broker_course AS schedule
    JOIN broker_operation AS operation ON operation.id = schedule.operation_id
    WHERE operation.state = 'planned' AND schedule.start_problem = ''
      AND schedule.start_at <= coalesce(%(now)s::timestamptz, statement_timestamp())
), EXISTS (
    SELECT FROM broker_operationpatch AS patch
    JOIN broker_operation AS operation ON operation.id = patch.operation_id
    WHERE NOT patch.is_looked AND operation.state = 'planned'
);
