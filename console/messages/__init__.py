"""One message, and lists of messages: detail, timeline, search, export, repair."""
