"""Queues as pages show them: list, settings in effect, listeners."""
