"""Queues: the list, one queue, its history and counters."""
