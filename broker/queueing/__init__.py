"""Entries on queues: put, route, get, browse, wake and move entries; read the
journal."""
