-- What runs behind the clock, in seconds; 0 where nothing does.
--   late      the delayed entry that has been due longest
--   unfolded  the oldest event that the tally does not have yet
--   open      the unit of work that is open longest, but for those without a deadline
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
                AND xid < 9223372036854775807  -- a range is taken for small
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
