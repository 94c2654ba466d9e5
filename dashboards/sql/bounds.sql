-- Sets the bounds of events_between.sql, events_counted.sql and messages_among.sql for this
-- connection, and the timeout of the copy. Turns parallel query off, so that the copy uses
-- one process of the server, and returns the id of that process. Turns compiling off: it
-- takes longer than it saves. A scan begins at the first page, and not where another scan
-- of the table is: so the rows have the same order each time.
SELECT
    set_config('archive.lo', $1, false),
    set_config('archive.hi', $2, false),
    set_config('archive.begin', $3, false),
    set_config('archive.end', $4, false),
    set_config('archive.ids', $5, false),
    set_config('statement_timeout', $6, false),
    set_config('max_parallel_workers_per_gather', '0', false),
    set_config('synchronize_seqscans', 'off', false),
    set_config('jit', 'off', false),
    set_config('timezone', 'UTC', false),
    pg_backend_pid()
