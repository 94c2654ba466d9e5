"""Read-only views: where a message is and why, search, dead letters, consistency."""
