"""Messages: detail, timeline, search, export, repair."""
