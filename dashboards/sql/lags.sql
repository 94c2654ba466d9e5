-- Lags in seconds; 0 if there is none.
--   late      the time since the oldest delayed entry was due
--   unfolded  the age of the oldest event that the tally does not have yet
--   open      the age of the oldest open unit of work that has a deadline
SELECT
    coalesce(
        (
            SELECT greatest(extract(epoch FROM statement_timestamp() - min(due_at)), 0)
            FROM broker_delayed
        ),
        0
    )::float8 AS late,
    coalesce(
        (
            SELECT greatest(extract(epoch FROM statement_timestamp() - min(at)), 0)
            FROM broker_event
            WHERE
                xid >= coalesce(
                    (SELECT xid FROM broker_watermark WHERE reader = 'tally'), 0
                )
                AND xid < 9223372036854775807  -- an upper bound: the planner then expects few rows
                OR xid = ANY (
                    (SELECT skipped FROM broker_watermark WHERE reader = 'tally')::bigint []
                )
        ),
        0
    )::float8 AS unfolded,
    coalesce(
        (
            SELECT greatest(extract(epoch FROM statement_timestamp() - min(started_at)), 0)
            FROM broker_unit_of_work
            WHERE deadline IS NOT NULL
        ),
        0
    )::float8 AS open;
