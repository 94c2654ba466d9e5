"""Queues for pages: list, effective settings, listeners."""
