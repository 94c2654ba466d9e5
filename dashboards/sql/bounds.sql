-- Sets the bounds of events_between.sql and puts_between.sql for this connection:
-- transaction ids and times. Sets the timeout of the copy, and memory to sort a window.
-- Turns parallel query off, so that the copy uses one process of the server, and returns
-- the id of that process. Turns compiling off: it takes longer than it saves.
SELECT
    set_config('archive.lo', $1, false),
    set_config('archive.hi', $2, false),
    set_config('archive.begin', $3, false),
    set_config('archive.end', $4, false),
    set_config('statement_timeout', $5, false),
    set_config('max_parallel_workers_per_gather', '0', false),
    set_config('work_mem', '256MB', false),
    set_config('jit', 'off', false),
    set_config('timezone', 'UTC', false),
    pg_backend_pid()
