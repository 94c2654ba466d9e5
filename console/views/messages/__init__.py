"""Pages of messages: one, search, edit, copies, scheduled, tasks, discards."""
