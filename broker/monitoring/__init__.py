"""Read-only queries: location and state of a message, search, dead letters,
consistency."""
