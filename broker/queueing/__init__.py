"""Entries on queues: put, route, get, browse, wake, move; the journal of it."""
