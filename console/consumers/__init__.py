"""Consumers: units of work, handlers and connections."""
