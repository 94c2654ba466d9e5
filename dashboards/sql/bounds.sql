-- Sets the bounds of events_between.sql, for this connection: transactions, moments.
SELECT
    set_config('archive.lo', $1, false),
    set_config('archive.hi', $2, false),
    set_config('archive.begin', $3, false),
    set_config('archive.end', $4, false),
    set_config('timezone', 'UTC', false)
