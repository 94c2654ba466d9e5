"""Pages of consumers."""
