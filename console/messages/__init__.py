"""Messages: search, browse, one message, send, edit, schedules, tasks."""
