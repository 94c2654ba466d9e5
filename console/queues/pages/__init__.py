"""Pages of queues."""
