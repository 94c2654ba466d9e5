-- Sets the bounds of events_between.sql, for this connection: transactions, moments. It
-- copies with one process, not with all that the server has, and tells its number.
SELECT
    set_config('archive.lo', $1, false),
    set_config('archive.hi', $2, false),
    set_config('archive.begin', $3, false),
    set_config('archive.end', $4, false),
    set_config('max_parallel_workers_per_gather', '0', false),
    set_config('timezone', 'UTC', false),
    pg_backend_pid()
