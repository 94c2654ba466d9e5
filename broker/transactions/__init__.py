"""Units of work: leased, joined, prepared, and their prefetch."""
