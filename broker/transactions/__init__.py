"""Units of work: leased, joined to a database transaction, or prepared; and
prefetch."""
